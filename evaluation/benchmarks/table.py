"""The table of the ten benchmarks: family averages, and the mean of the ten as the overall figure (Table 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from evaluation.benchmarks.engine import Benchmark
from evaluation.pattern_eval.published import BenchmarkRow


def benchmark_row(size: str, policy: str, scores: Mapping[str, float], benchmarks: Sequence[Benchmark]) -> BenchmarkRow:
    """One row; the overall figure is the mean of the benchmarks, not of the family averages (paper, Table 6).

    Raises:
        ValueError: a score is missing: an average over fewer would not be comparable.
    """
    missing = [benchmark.name for benchmark in benchmarks if benchmark.name not in scores]
    if missing:
        raise ValueError(f"no score of {', '.join(missing)}: run them first, averages over fewer are not comparable")
    groups = dict.fromkeys(benchmark.group for benchmark in benchmarks)
    averages = {
        group: fmean(scores[benchmark.name] for benchmark in benchmarks if benchmark.group == group) for group in groups
    }
    ordered = {benchmark.name: scores[benchmark.name] for benchmark in benchmarks}
    return BenchmarkRow(size, policy, ordered, averages, fmean(ordered.values()))
