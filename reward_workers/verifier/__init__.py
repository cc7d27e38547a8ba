"""The verifier: s_ver of every rollout and every evaluation, from the last box and the reference.

Stages: extract -> exact -> typed rules -> static guard -> symbolic equivalence in a child process. What they leave open
is None, never 0. This part never evaluates model text as code and never calls a judge.
"""

from reward_workers.verifier.cascade import Verifier
from reward_workers.verifier.explain import explain
from reward_workers.verifier.library import verify
from reward_workers.verifier.rules.anls import anls
from reward_workers.verifier.rules.decide import verify_rules
from reward_workers.verifier.rules.extract import Extraction, extract_boxed
from reward_workers.verifier.symbolic.pool import SymbolicPool

__all__ = ["Extraction", "SymbolicPool", "Verifier", "anls", "explain", "extract_boxed", "verify", "verify_rules"]
