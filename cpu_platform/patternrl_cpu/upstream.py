"""The version check that every patch makes before it is applied, and the one question that keeps them inert."""

from __future__ import annotations


class UpstreamChanged(RuntimeError):
    """A patch met a version of its upstream that it was not written for."""


def require_version(distribution: str, expected: str, patch: str) -> None:
    """Refuses to patch a release that nobody has looked at.

    Args:
        distribution: name of the installed distribution, such as ``verl``.
        expected: the version that the patch was written for; a local suffix such as ``+cpu`` is ignored.
        patch: upstream file and line, and what is changed there, for the message.

    Raises:
        UpstreamChanged: another version is installed, or none.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version(distribution)
    except PackageNotFoundError:
        found = "none"
    if found.partition("+")[0] != expected:
        raise UpstreamChanged(
            f"patternrl-cpu-platform patches {patch}, read in {distribution} {expected}; installed: {found}. "
            f"Install {distribution}=={expected} (`make install` does), or look at the new release, adapt the patch "
            f"and its version in cpu_platform/patternrl_cpu, and run pytest tests/cpu_platform."
        )


def torch_has_gpu_build() -> bool:
    """True where torch was built for CUDA or ROCm.

    The build decides, not ``torch.cuda.is_available()``: that is also False in an actor of a GPU cluster that holds no
    GPU, where these patches must stay away.
    """
    import torch

    return torch.version.cuda is not None or torch.version.hip is not None
