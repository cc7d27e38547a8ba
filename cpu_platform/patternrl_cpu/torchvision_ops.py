"""Makes a CUDA build of torchvision importable beside a CPU build of torch.

A package index that has no CPU build of torchvision gives the CUDA one. Its compiled operators do not load beside a CPU
torch; torchvision tolerates that (`torchvision/extension.py:_has_ops` is False) except in
`_meta_registrations.py:163,177`, which describe the operators `nms` and `qnms` without asking whether they exist:
"operator torchvision::nms does not exist". That kills every import of transformers' image processing. Declaring the two
schemas first is enough: the operators are not called, and calling one still says that it has no implementation.
"""

from __future__ import annotations

import sys

TORCHVISION = "0.28.0"
_HOOKED = "torchvision._meta_registrations"
_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_declared: list[object] = []
"""The torch library that owns the schemas: it must live as long as the process, or they go with it."""


class MetaRegistrationsHook:
    """A meta path finder that finds nothing: it only notices that torchvision is about to describe its operators."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == _HOOKED and not _declared:
            declare_missing_operators()


def declare_missing_operators() -> None:
    """Declares `nms` and `qnms` where torchvision's compiled operators did not load because torch is a CPU build.

    Raises:
        UpstreamChanged: the torchvision that needs it is not the one that this was written for.
    """
    from patternrl_cpu.upstream import require_version, torch_has_gpu_build

    if sys.modules["torchvision.extension"]._has_ops() or torch_has_gpu_build():
        return
    require_version("torchvision", TORCHVISION, "torchvision/_meta_registrations.py:163,177 (operators nms, qnms)")
    import torch

    library = torch.library.Library("torchvision", "FRAGMENT")
    for schema in _SCHEMAS:
        library.define(schema)
    _declared.append(library)


def install() -> None:
    """Sets the hook, once a process."""
    if MetaRegistrationsHook not in sys.meta_path:
        sys.meta_path.insert(0, MetaRegistrationsHook)
