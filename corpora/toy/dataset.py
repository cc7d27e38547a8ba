"""The toy data set as parquet in verl's row format.

    python -m corpora.toy.dataset --out assets/toy/data

writes train.parquet (1,600 rows) and heldout.parquet (512 rows). The same seed gives the same rows; the two splits draw
from different random streams and share no (scene, question) pair.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from corpora.toy.questions import Kind, Question, draw_question
from corpora.toy.streams import stream
from corpora.toy.world import png

DATA_SOURCE = "toy"
KINDS: tuple[Kind, ...] = (
    *("count_color", "count_shape", "compare"),
    *("exists", "exists"),
    *("color_at", "color_at", "color_at"),
)
"""How often each kind is asked, by repetition. Kinds that the warm start answers well come more often: in a group whose
answers are all right the pattern penalty is the whole signal, and with few such groups a short run can follow the small
accuracy advantage of leaked deliberation before it turns."""

SPLIT_SIZES = {"train": 1600, "heldout": 512}


def split_questions(split: str, seed: int = 0) -> list[Question]:
    """The questions of a split, without duplicates; held-out ones never occur in train."""
    taken = {(q.text, q.scene) for q in split_questions("train", seed)} if split == "heldout" else set()
    rng = stream(seed, f"dataset:{split}")
    questions: list[Question] = []
    while len(questions) < SPLIT_SIZES[split]:
        question = draw_question(rng, kinds=KINDS)
        if (question.text, question.scene) not in taken:
            taken.add((question.text, question.scene))
            questions.append(question)
    return questions


def row(question: Question, split: str, index: int) -> dict[str, Any]:
    """One row: what verl reads (prompt, images, reward_model, extra_info) with the project's extra fields."""
    return {
        "data_source": DATA_SOURCE,
        "prompt": [{"role": "user", "content": f"<image>{question.text}"}],
        "images": [{"bytes": png(question.scene)}],
        "ability": question.family,
        "reward_model": {"style": "rule", "ground_truth": question.answer},
        "extra_info": {
            "index": index,
            "prompt_id": f"{DATA_SOURCE}-{split}-{index:05d}",
            "split": split,
            "question": question.text,
            "answer_type": question.answer_type,
            "options": None,
            "family": question.family,
            "category": question.kind,
        },
    }


def rows(split: str, seed: int = 0) -> list[dict[str, Any]]:
    """All rows of a split, in order; ``extra_info.index`` counts from 0."""
    return [row(question, split, index) for index, question in enumerate(split_questions(split, seed))]


def write(out: Path, seed: int = 0) -> list[Path]:
    """Write both splits; returns the paths."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out.mkdir(parents=True, exist_ok=True)
    extra = [(name, pa.string()) for name in ("prompt_id", "split", "question", "answer_type")]
    schema = pa.schema(
        [
            ("data_source", pa.string()),
            ("prompt", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
            ("images", pa.list_(pa.struct([("bytes", pa.binary())]))),
            ("ability", pa.string()),
            ("reward_model", pa.struct([("style", pa.string()), ("ground_truth", pa.string())])),
            (
                "extra_info",
                pa.struct(
                    [
                        ("index", pa.int64()),
                        *extra,
                        ("options", pa.list_(pa.string())),
                        ("family", pa.string()),
                        ("category", pa.string()),
                    ]
                ),
            ),
        ]
    )
    paths = []
    for split in SPLIT_SIZES:
        path = out / f"{split}.parquet"
        pq.write_table(pa.Table.from_pylist(rows(split, seed), schema=schema), path)
        paths.append(path)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the toy data set in verl's row format.")
    parser.add_argument("--out", type=Path, required=True, help="folder for train.parquet and heldout.parquet")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for path in write(args.out, args.seed):
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
