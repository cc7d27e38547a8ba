"""Rule-based detectors on hand-written responses, English and Chinese, and on the toy world's generator.

Every example is labelled by the rubric (paper, appendix E), not by what the rules print.
"""

from __future__ import annotations

import random
import time
from collections import Counter

import pytest

from corpora.toy.questions import draw_question
from corpora.toy.responses import ResponseMix, write_response
from foundation.labels import LABELS
from reward_workers.detectors import detect_patterns

LEAKED = {
    "Wait, the bar for 2019 is taller. The answer is \\boxed{2019}": "self_correction",
    "The total is 12. No, wait. There are 13. \\boxed{13}": "self_correction",
    "The slope is 2 — wait, the line falls, so it is -2. \\boxed{-2}": "self_correction",
    "Hmm, the label is hard to read.\nThe value is 7. \\boxed{7}": "self_correction",
    "Hold on, that ignores the second row. \\boxed{9}": "self_correction",
    "The area is 20.\n\nLet me double-check: 4 * 5 = 20. \\boxed{20}": "self_correction",
    "Actually, that is not the smallest angle. \\boxed{B}": "self_correction",
    "On second thought the second option fits better. \\boxed{B}": "self_correction",
    "I misread the axis. It shows 40. \\boxed{40}": "self_correction",
    "Okay, so let me count again. There are 4. \\boxed{4}": "self_correction",
    "Let me look at the chart first.\n## Step 1\nThe peak is in May. \\boxed{May}": "narration",
    "Let’s break this down.\n1. The radius is 3. \\boxed{3}": "narration",
    "First, I need to find the perimeter. It is 14. \\boxed{14}": "narration",
    "Alright, let us carefully examine the figure. \\boxed{C}": "narration",
    "So the sum is 9.\n</think>\n\nThe answer is \\boxed{9}": "think_marker",
    "<think>There are two cats.</think> Two. \\boxed{2}": "think_marker",
    "◁think▷short◁/think▷ \\boxed{1}": "think_marker",
    "图中有三个圆。等等，左下角还有一个。所以是4个。\\boxed{4}": "self_correction",
    "面积是12。不对，应该除以2。\\boxed{6}": "self_correction",
    "让我重新数一下。一共有5个。\\boxed{5}": "self_correction",
    "我刚才看错了，最高的是蓝色柱子。\\boxed{蓝色}": "self_correction",
    "嗯，这个图有点模糊。\\boxed{B}": "narration",
    "让我们先来看一下图中的数据。\\boxed{20}": "narration",
    "我需要仔细数一下红色的点。\\boxed{8}": "narration",
}
POLISHED = [
    "The chart shows 40 in 2019 and 55 in 2020, so the rise is 15.\n\n\\boxed{15}",
    "**Step 1.** The radius is 3 cm.\n**Step 2.** The area is 9π cm².\n\n\\boxed{9\\pi}",
    "Let x be the number of apples. Then 2x + 3 = 11, so x = 4. \\boxed{4}",
    "Let us denote the sides by a and b. Since a = b, the triangle is isosceles. \\boxed{B}",
    "Option A is wrong because the arrow points left; option B matches. \\boxed{B}",
    "Passengers wait for the green light before they cross. \\boxed{green}",
    'The sign says "Wait, let me check your ticket". \\boxed{Wait}',
    "The button is labelled `hold on`. \\boxed{hold on}",
    "First, count the red squares: 3. Next, count the blue ones: 2. \\boxed{5}",
    "Let me know if you need another format. \\boxed{3}",
    "The text reads: the </think> token closes the block. \\boxed{closing}",
    "The actual value is 5 and the expected value is 6. \\boxed{5}",
    "Wait time: 10 minutes. \\boxed{10}",
    "苹果、香蕉、橙子等等，一共有三种水果。\\boxed{3}",
    "首先计算底面积：3×4=12。再乘以高5，得到体积60。\\boxed{60}",
    "这个说法不对，因为2019年的数值更高。\\boxed{错误}",
    "他需要再买两张票，重新排队。\\boxed{2}",
    "招牌上写着“等等，让我看看”。\\boxed{招牌}",
]


@pytest.mark.parametrize(("response", "rule"), LEAKED.items())
def test_leaked_deliberation_is_seen(response: str, rule: str):
    found = detect_patterns(response)
    assert found.seen["cot"] is True
    assert f"cot:{rule}" in found.reasons


@pytest.mark.parametrize("response", POLISHED)
def test_a_polished_response_has_no_label(response: str):
    found = detect_patterns(response)
    seen = found.seen
    assert (seen["cot"], seen["rep"], bool(seen["con"]), bool(seen["pr"])) == 4 * (False,), found.reasons


SENTENCE = "The blue bar reaches 55 at the right edge of the chart."
OTHER = "The red bar stays below 40 in every year that is shown."


@pytest.mark.parametrize(
    ("response", "rule"),
    [
        (f"{SENTENCE} {SENTENCE} \\boxed{{55}}", "sentence"),
        (f"{SENTENCE} So, {SENTENCE.lower()} \\boxed{{55}}", "sentence"),
        (f"{SENTENCE} {OTHER} {SENTENCE} It is 55. {SENTENCE} \\boxed{{55}}", "sentence"),
        (f"{SENTENCE} {OTHER}\n\n## Details\n{SENTENCE} {OTHER} \\boxed{{55}}", "passage"),
        ("the cat sat on the mat and looked at the dog next to it " * 8 + "\\boxed{cat}", "loop"),
        ("The answer is no no no no no no no no no no \\boxed{no}", "loop"),
        ("图中的蓝色柱子最高。图中的蓝色柱子最高。\\boxed{蓝色}", "sentence"),
        ("因为直线经过原点和点所以斜率等于二" * 12 + "\\boxed{2}", "loop"),
    ],
)
def test_repetition_is_seen(response: str, rule: str):
    found = detect_patterns(response)
    assert found.seen["rep"] is True and f"rep:{rule}" in found.reasons


@pytest.mark.parametrize(
    "response",
    [
        f"{SENTENCE} {OTHER} It follows that {SENTENCE.lower()} \\boxed{{55}}",  # a closing restatement
        "The answer is 55. The answer is \\boxed{55}",
        f"**Answer: 55**\n\n{SENTENCE}\n\nThe answer is 55. \\boxed{{55}}",
        "- Not visible in the image\n- Not visible in the image\n- Visible\n\\boxed{2}",  # items of a list
        "| a | b |\n| not given here | not given here |\n| not given here | not given here |\n\\boxed{0}",
        "He pays for gas: 12*1 = 12 checks per year.\nHe pays for rent: 12*1 = 12 checks per year.\n\\boxed{24}",
        "x + 3 = 7\nx + 3 - 3 = 7 - 3\nx = 4\nx = 4\n\\boxed{4}",
        "Row 1 is red. Row 2 is red. Row 3 is red. \\boxed{3}",
        "\n".join(
            f"In {year} the company sold {n} cars in the north and {n + 1} cars in the south."
            for year, n in zip(range(2010, 2018), range(20, 28), strict=True)
        )
        + "\n\\boxed{2017}",
        "```\nfor i in range(3): print(i)\nfor i in range(3): print(i)\nfor i in range(3): print(i)\n```\n\\boxed{3}",
        "是的。是的。\\boxed{是}",
    ],
)
def test_necessary_repetition_is_not(response: str):
    assert detect_patterns(response).seen["rep"] is False


@pytest.mark.parametrize(
    ("response", "rule"),
    [
        ("The answer is B. The figure shows a square. Therefore the final answer is \\boxed{C}", "two_answers"),
        ("The answer is 12.\n\nEach side is 4, so the perimeter is 16.\n\n\\boxed{16}", "two_answers"),
        ("The correct option is (A). The peak is in May. The answer is D.", "two_answers"),
        ("So the result is \\boxed{3}.\nThe lines cross twice.\nThus the final answer is \\boxed{4}", "two_answers"),
        ("The answer is yes. The arrow points up. \\boxed{No}", "two_answers"),
        ("There are 3 red cars. There are 4 red cars. \\boxed{4}", "two_values"),
        ("There is a cat. There is no cat. \\boxed{no}", "two_values"),
        ("The color of the roof is red. The color of the roof is blue. \\boxed{blue}", "two_values"),
        ("答案是A。图中显示箭头向左。因此正确选项是B。", "two_answers"),
        ("图中有3个红色圆形。图中有4个红色圆形。\\boxed{4}", "two_values"),
    ],
)
def test_contradiction_is_seen(response: str, rule: str):
    found = detect_patterns(response)
    assert found.seen["con"] is True and f"con:{rule}" in found.reasons


@pytest.mark.parametrize(
    "response",
    [
        "The answer is 0.5. In other words the final answer is \\boxed{\\frac{1}{2}}",  # the same value
        "The answer is B. Wait, the arrow points left. The answer is \\boxed{C}",  # taken back
        "The answer is 12, if the base counts twice. Without it the answer is \\boxed{16}",  # conditions
        "(a) The answer is 3. (b) The answer is 4. \\boxed{4}",  # parts
        "Part 1: the answer is 3.\nPart 2: the answer is 4.\n\\boxed{3, 4}",
        "x = \\boxed{3} and y = \\boxed{4}",
        "So x = \\boxed{3}.\nThus y = \\boxed{4}",  # values of two things
        "\\boxed{3}\n\\boxed{4}",  # perhaps the parts of one answer
        "The answer is B. \\boxed{42}",  # an option and its text
        "The answer is A red circle. \\boxed{B}",
        "At first sight the answer is 3. It must count the hidden cube. The answer is \\boxed{4}",
        "There are 3 red cars. There are 4 blue cars. \\boxed{7}",
        "There are 5 apples. He eats one apple. There are 4 apples. \\boxed{4}",
        "The next number is 3. The next number is 5. \\boxed{5}",
        "答案是A还是B取决于角度。如果角度大于90度，答案是B。否则答案是\\boxed{A}",
        "第一问：答案是3。第二问：答案是4。",
    ],
)
def test_no_contradiction_without_an_incompatible_pair(response: str):
    assert detect_patterns(response).seen["con"] is None


@pytest.mark.parametrize(
    "response",
    [
        "After a careful analysis of the image, the answer is clear. \\boxed{3}",
        "A thorough examination leads to a definite conclusion.\n\nThe answer is \\boxed{B}",
        "Based on the available evidence, we can determine the correct answer. \\boxed{red}",
        "经过仔细分析，可以得出结论。答案是\\boxed{3}",
    ],
)
def test_an_empty_wrapper_is_performative(response: str):
    found = detect_patterns(response)
    assert found.seen["pr"] is True and found.reasons == ("pr:wrapper",)


@pytest.mark.parametrize(
    "response",
    [
        "After a careful analysis of the image, the roof is red, so the answer is clear. \\boxed{red}",
        "Based on the legend, the blue line shows sales. After a careful analysis, the answer is clear. \\boxed{blue}",
        "The roof is red. \\boxed{red}",
        "经过仔细分析图中的三个圆，最大的在左边。\\boxed{左}",
    ],
)
def test_with_any_content_the_rule_abstains(response: str):
    assert detect_patterns(response).seen["pr"] is None


@pytest.mark.parametrize("response", ["\\boxed{3}", "The answer is \\boxed{B}.", "答案是\\boxed{4}"])
def test_a_bare_answer_is_neither_contradictory_nor_performative(response: str):
    found = detect_patterns(response)
    assert (found.seen["con"], found.seen["pr"]) == (False, False)


def test_one_response_may_have_several_labels():
    text = f"Let me see. {SENTENCE} {SENTENCE} The answer is 55. It is shown at the edge. \\boxed{{54}}"
    assert detect_patterns(text).reasons == ("cot:narration", "rep:sentence", "con:two_answers")


def test_the_toy_world_is_labelled_as_it_was_written():
    """Precision of every label at least .98, recall of all but contradiction at least .97, on 2,000 responses.

    Generator and rules were written apart, but the sentences are few and clear: real responses are harder.
    """
    rng = random.Random(11)
    mix = ResponseMix(think_marker=0.02, box_mismatch=0.02)
    counts: Counter[tuple[str, bool, bool]] = Counter()
    for _ in range(2000):
        written = write_response(draw_question(rng), rng, mix)
        found = detect_patterns(written.text).seen
        counts.update((label, written.labels[label], found[label] is True) for label in LABELS)
    for label in LABELS:
        hits, false, missed = (counts[label, *kind] for kind in ((True, True), (False, True), (True, False)))
        assert hits / (hits + false) >= 0.98, label
        assert hits / (hits + missed) >= (0.5 if label == "con" else 0.97), label


HOSTILE = {
    "open fences": "```\n~~~~\n",
    "open boxes": "\\boxed{",
    "boxes": "\\boxed{1} ",
    "quotes": '"',
    "backticks": "`",
    "blanks": " ",
    "lines": "\n",
    "dots": "...",
    "dollars": "$",
    "pipes": "|",
    "let me": "let me ",
    "adverbs": "let me firstly secondly ",
    "wait": "wait ",
    "answer": "the answer is ",
    "list": "1. ",
    "adjectives": "after careful ",
    "chinese wait": "等等",
    "chinese count": "图中有3个",
    "markers": "<think>",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_time_is_linear_in_the_response(unit: str):
    """A quadratic rule takes minutes for so long a text; the bound is some thirty times what a linear one takes."""
    text = unit * (400_000 // len(unit.encode()))
    started = time.process_time()
    detect_patterns(text)
    assert time.process_time() - started < 30
