"""The version check of the patches."""

import pytest

from patternrl_cpu.upstream import UpstreamChanged, require_version


def test_the_version_that_was_read_passes_with_any_local_suffix(monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda name: "2.13.0+cpu")
    require_version("torch", "2.13.0", "somewhere.py:1")


@pytest.mark.parametrize("found", ["2.13.1", "2.13", "3.0.0+cpu"])
def test_another_version_is_refused_with_what_to_do(monkeypatch, found):
    monkeypatch.setattr("importlib.metadata.version", lambda name: found)
    with pytest.raises(UpstreamChanged) as refusal:
        require_version("torch", "2.13.0", "somewhere.py:1 (a name)")
    message = str(refusal.value)
    assert "somewhere.py:1 (a name)" in message
    assert f"installed: {found}" in message
    assert "Install torch==2.13.0" in message


def test_a_missing_distribution_is_refused():
    with pytest.raises(UpstreamChanged, match="installed: none"):
        require_version("no-such-distribution", "1.0", "somewhere.py:1")
