"""PatternEval: paired generation in both thinking modes, two independent judges, metrics and report.

    python -m evaluation.pattern_eval experiment=toy

Its numbers are conditional robustness on a selected stress test; they never say how frequent a pattern is in use.
"""
