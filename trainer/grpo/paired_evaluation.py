"""PatternEval while training: when it is due, and what becomes of its records.

The generation is verl's validation over `trainer.grpo.paired_prompts`, the scoring that of the job's reward workers. A
kept evaluation is one line a response in `records/pattern_eval.jsonl`; `evaluation.pattern_eval training_run=` reads
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from foundation.responses.families import MODES
from foundation.runs.paired_figures import headline, paired_figures, tracker_metrics
from foundation.runs.run_folder import RunFolder
from foundation.runs.scored_rollout import ScoredRollout, read_rollouts, write_rollouts
from trainer.frame.progress import Progress


class Prompts(Protocol):
    """What `trainer.grpo.paired_prompts.PairedPrompts` says of itself."""

    n_prompts: int

    @property
    def n_responses(self) -> int: ...


@dataclass(frozen=True, slots=True)
class PairedEvaluation:
    """The paired evaluations of one start of a run.

    Attributes:
        prompts: what is asked, in batches.
        every: steps between two evaluations, at least 1.
        last_step: the step that ends the run, which is evaluated too.
        seed: of the bootstrap.
        attempt: index of this start.
    """

    prompts: Prompts
    every: int
    last_step: int
    seed: int
    folder: RunFolder
    attempt: int
    progress: Progress

    def is_due(self, step: int) -> bool:
        """Whether the weights of a step are evaluated: step 0, every so many, and the last."""
        return step % self.every == 0 or step == self.last_step

    def is_missing(self, step: int) -> bool:
        """Whether a run that starts with the weights of this step has them still to evaluate.

        A kill between the checkpoint of a step and its evaluation loses the evaluation, and the resumed run does not
        come back to the step.
        """
        if not self.is_due(step):
            return False
        kept = read_rollouts(self.folder.paired_records)
        return sum(record.step == step for record in kept) < self.prompts.n_responses

    def begin(self) -> None:
        """Say what is asked."""
        self.progress.say(f"PatternEval: {self.prompts.n_responses:,} responses to {self.prompts.n_prompts:,} prompts")

    def finish(self, records: Sequence[ScoredRollout]) -> dict[str, float]:
        """Keep the records of one evaluation, say its figures, and return them for the trackers."""
        ordered = sorted(records, key=lambda record: (MODES.index(record.mode), record.group))
        write_rollouts(self.folder.paired_records, self.attempt, ordered)
        figures = paired_figures(ordered, self.seed)
        self.progress.say(f"PatternEval at step {figures.step}: {headline(figures)}")
        return {f"pattern_eval/{name}": value for name, value in tracker_metrics(figures).items()}
