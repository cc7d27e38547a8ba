"""Where the CPU platform is not installed (a GPU cluster) there is nothing to test here, and the header says so."""

import importlib.util

INSTALLED = importlib.util.find_spec("patternrl_cpu") is not None

collect_ignore_glob = [] if INSTALLED else ["test_*.py"]


def pytest_report_header() -> str:
    return "cpu platform: installed" if INSTALLED else "cpu platform: not installed, tests/cpu_platform is left out"
