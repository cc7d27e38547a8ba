"""The submission's own settings, and their place beside those of a run."""

import pytest

from foundation.settings.compose import ConfigError, compose_config
from launch.settings import split_overrides


@pytest.mark.parametrize(
    ("override", "parts"),
    [
        ("launch.max_restarts=-1", ("launch.max_restarts=-1", "at least 0")),
        ("launch.address=127.0.0.1:8265", ("launch.address='127.0.0.1:8265'", "^https?://")),
        ("launch.max_restart=1", ("launch.max_restart", "did you mean 'max_restarts'?")),
        ("launch=nowhere", ("launch=nowhere: no such option", "default")),
        ("sweep.max_concurrent=0", ("sweep.max_concurrent=0",)),
        ("launch.secrets=upload", ("launch.secrets='upload'", "'nodes' or 'runtime_env'")),
    ],
)
def test_a_wrong_setting_is_one_line(launch_settings, override, parts):
    with pytest.raises(ConfigError) as caught:
        launch_settings(override)
    (problem,) = caught.value.problems
    assert all(part in problem for part in parts), problem


def test_every_profile_is_complete(launch_settings):
    from foundation.settings.compose import CONFIG_DIR

    profiles = [path.stem for path in (CONFIG_DIR / "launch").glob("*.yaml")]
    assert "default" in profiles
    for profile in profiles:
        assert launch_settings(f"launch={profile}").launch.address.startswith("http")


def test_overrides_are_told_apart_by_their_section():
    ours, run = split_overrides(
        ["launch=x", "+launch.env.A=b", "sweep.name=s", "render.image=i", "seed=0,1", "run.name=launch.x", "+a=b"]
    )
    assert ours == ["launch=x", "+launch.env.A=b", "sweep.name=s", "render.image=i"]
    assert run == ["seed=0,1", "run.name=launch.x", "+a=b"]


@pytest.mark.parametrize("override", ["launch.max_restarts=1", "sweep.name=s", "launch=default", "render.image=x"])
def test_a_run_has_no_settings_of_its_submission(override):
    with pytest.raises(ConfigError, match=r"a setting of python -m launch\.submit"):
        compose_config([override])
