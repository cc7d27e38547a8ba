"""Construction of a PatternEval set from a pool of candidates and the rollouts of some models on it.

    python -m corpora.pattern_eval pool.files=[pool.jsonl] rollouts=[outputs/pattern_eval/model_a]

Three steps, each of which keeps its result and is not repeated: anchors, expansion, sampling. It generates and judges
nothing: the rollouts are those of `python -m evaluation.pattern_eval` on the pool.
"""
