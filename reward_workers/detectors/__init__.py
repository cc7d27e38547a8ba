"""Rule-based detectors of the bad response patterns: a second source beside PatternRM, and a yardstick for it.

Precision first: a rule speaks only where the text itself is the evidence. What no rule can see is not flagged;
contradiction and performative reasoning, which need understanding, mostly abstain. Never a judge of right and wrong.
"""

from reward_workers.detectors.detect import DETECTORS, Detector, Text, detect_patterns

__all__ = ["DETECTORS", "Detector", "Text", "detect_patterns"]
