"""A pytest plugin that adds a fifth label to the table of this process, before anything else is imported."""

from __future__ import annotations

from pathlib import Path

from foundation.labels import Label, add_label

add_label(
    Label(
        key="cit",
        wire="Cit",
        title="unsupported citation",
        title_zh="无据引用",
        means="The response rests a claim on a source that neither image nor question contains.",
        means_zh="回复以图片和题目中都没有的来源支持某个说法。",
        acceptable=r"The caption says: NASA, 2019. \boxed{2019}",
        triggering=r"According to a study, most bars are blue. \boxed{blue}",
        spellings=r"unsupported[-_ ]citations?|citations?|cit|无据引用|引用无据",
        colour="tab:cyan",
        prompts=Path(__file__).parent,
    )
)
