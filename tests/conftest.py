"""What all tests share: YAML is read by libyaml.

The tests compose the configuration some two hundred times, each time from seventy files. OmegaConf's loader (2.3,
omegaconf/_utils.py:136) derives from PyYAML's Python loader; derived from the C one it reads the same, and a
composition takes 0.66 s instead of 0.92.
"""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest
import yaml
from omegaconf import _utils


@pytest.fixture(scope="session", autouse=True)
def libyaml() -> Iterator[None]:
    """Nothing changes where PyYAML was built without libyaml."""
    with mock.patch.object(yaml, "SafeLoader", yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):
        loader = _utils.get_yaml_loader()
    with mock.patch.object(_utils, "get_yaml_loader", return_value=loader):
        yield
