"""What a judge said: labels, or a verdict, or a failure with its reason.

Strict about meaning and tolerant of form. A decision is read only where it is certain; anything else leaves the whole
reply unscored, because a guessed 0 would reward a pattern and a guessed 1 would punish a clean response. Both parsers
are linear in the length of the reply and raise nothing.
"""

from reward_workers.judges.replies.parse_labels import ParsedLabels, parse_labels
from reward_workers.judges.replies.parse_verdict import parse_verdict
from reward_workers.judges.replies.reply_text import ParseFailure

__all__ = ["ParseFailure", "ParsedLabels", "parse_labels", "parse_verdict"]
