"""What is checked before Ray starts: data, models, endpoints, GPUs; and the plan that a person reads.

Imports neither torch, ray nor verl.
"""
