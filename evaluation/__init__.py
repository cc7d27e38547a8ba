"""Evaluation: what users see of a model, measured with the same verifier, judges and channel splitter as the reward.

It reads generations and judgements and writes tables, figures and pages. It never trains, and it never turns what could
not be scored into a zero.
"""
