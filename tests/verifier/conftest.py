"""Hypothesis settings of the verifier tests: the same examples in every run, no deadline, no files."""

from hypothesis import settings

settings.register_profile("verifier", deadline=None, database=None, derandomize=True)
settings.load_profile("verifier")
