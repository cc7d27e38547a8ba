"""The toy world: coloured shapes on a 3x3 grid, questions about them, and responses whose bad patterns are known.

It makes the data of the CPU path, labels any response with its oracle, and trains the three tiny models.
It never enters the reward: rewards come from the verifier and the served judges; the oracle only measures beside them.
"""
