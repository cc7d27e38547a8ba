"""The driver's own logic."""

import pytest
from omegaconf import OmegaConf

from foundation.runs.run_folder import open_run_folder, write_json
from trainer.frame import run


def test_a_run_of_a_version_with_other_records_is_refused_before_ray_starts(tmp_path, capsys, monkeypatch):
    config = OmegaConf.create({"policy": {}, "corpus": {}, "reward_mix": {}, "seed": 0, "run": {"dir": str(tmp_path)}})
    folder, state = open_run_folder(tmp_path, OmegaConf.to_container(config))
    del state["record_schema"]  # as the version before wrote it
    write_json(folder.state, state)
    monkeypatch.setattr(run, "_run_job", lambda config, folder, runner: pytest.fail("the job was started"))
    assert run.run_training(config, lambda: pytest.fail("asked for")) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: run.dir={tmp_path} holds a run whose records have schema 1")
    assert "set run.name=<new name>" in error
