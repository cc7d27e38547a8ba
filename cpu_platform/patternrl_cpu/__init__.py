"""The CPU platform of PatternRL: everything that verl and vLLM need where torch has no CUDA, and nothing else.

It never changes anything where torch was built for a GPU, and it never patches a version of verl, vLLM or torchvision
that it was not written for. Nothing here knows about rewards, judges or the trainer.
"""
