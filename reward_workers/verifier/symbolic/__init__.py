"""The symbolic stage: guard, child processes that can be killed, and the equivalence check that runs inside them.

Model text reaches the symbolic library here only, behind the guard and a deadline.
"""
