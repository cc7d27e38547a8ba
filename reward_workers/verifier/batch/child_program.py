"""A child process of the command that runs the rules on whole chunks of rows (`child_handle` starts it).

Started as ``python -m reward_workers.verifier.batch.child_program 0|1`` (1: with explanations). Frames hold lines
of cases on the way in, one JSON object with ``rows``, ``counts`` and ``anls`` on the way out.
The first message out is an empty object: the worker is ready.
An entry of ``rows`` is a line of output, or {"malformed": why}, or null for a case that the symbolic stage must decide.
It ends when its stdin does, so also when its parent is killed.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from reward_workers.verifier.batch.case import encode_row, read_case, verdict_row
from reward_workers.verifier.batch.tally import Tally
from reward_workers.verifier.cascade import consult_rules
from reward_workers.verifier.symbolic.frames import read_frame, write_json


def decide_lines(lines: list[bytes], with_explanation: bool) -> dict[str, Any]:
    """The reply to one chunk of lines."""
    rows: list[Any] = []
    tally = Tally()
    for line in lines:
        try:
            case = read_case(line)
        except ValueError as error:
            rows.append({"malformed": str(error)})
            continue
        consultation = consult_rules(case.response, case.reference, case.answer_type, case.options)
        if consultation.questions:
            rows.append(None)
            continue
        row = verdict_row(case, consultation.verdict, with_explanation)
        tally.add(row)
        rows.append(encode_row(row).decode())
    return {"rows": rows, **tally.as_dict()}


def main() -> None:
    with_explanation = sys.argv[1] == "1"
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not enter the message stream
    logging.basicConfig(format="%(message)s")
    write_json(out, {})
    while (body := read_frame(sys.stdin.buffer)) is not None:
        write_json(out, decide_lines(body.split(b"\n"), with_explanation))


if __name__ == "__main__":
    main()
