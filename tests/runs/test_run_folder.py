"""A run folder belongs to one configuration, counts its starts, and survives a kill in the middle of a line."""

import json

import pytest

from foundation.runs import run_folder
from foundation.runs.records import RECORD_SCHEMA
from foundation.runs.run_folder import RunFolder, append_jsonl, open_run_folder, read_jsonl, write_json

CONFIG = {
    "policy": {"path": "m"},
    "corpus": {"name": "toy"},
    "reward_mix": {"cap": 0.1},
    "seed": 1,
    "run": {"name": "a"},
}


def test_line_separators_inside_a_text_end_no_row(tmp_path):
    rows = [{"visible": "one\u2028two\u0085three\u2029"}, {"visible": "four"}]
    append_jsonl(tmp_path / "records.jsonl", rows)
    assert read_jsonl(tmp_path / "records.jsonl") == rows


def test_a_restart_keeps_the_wandb_id_and_counts(tmp_path):
    _, first = open_run_folder(tmp_path / "run", CONFIG)
    folder, second = open_run_folder(tmp_path / "run", CONFIG)
    assert first["wandb_id"] == second["wandb_id"] and len(second["starts"]) == 2
    assert folder.read_state() == second


def test_another_configuration_is_refused(tmp_path):
    open_run_folder(tmp_path / "run", CONFIG)
    with pytest.raises(ValueError, match=r"run\.name"):
        open_run_folder(tmp_path / "run", {**CONFIG, "reward_mix": {"cap": 0.2}})


def test_where_the_checkout_lies_makes_no_other_run():
    """Every submission of a job may get another copy of the checkout."""
    paths = ({"path": f"{run_folder.CHECKOUT}/assets/m"}, {"path": "assets/m"}, {"path": "/elsewhere/assets/m"})
    here, copy, other = (run_folder.fingerprint({**CONFIG, "policy": path}) for path in paths)
    assert here == copy != other


def test_settings_that_do_not_define_the_experiment_may_change(tmp_path):
    open_run_folder(tmp_path / "run", CONFIG)
    open_run_folder(tmp_path / "run", {**CONFIG, "run": {"name": "b"}})


def test_resumed_from_the_newest_complete_checkpoint(tmp_path):
    folder, _ = open_run_folder(tmp_path / "run", CONFIG)
    assert folder.last_checkpoint() is None and folder.hugging_face_export() is None
    (folder.checkpoints / "latest_checkpointed_iteration.txt").write_text("12")
    (folder.checkpoints / "global_step_12" / "actor" / "huggingface").mkdir(parents=True)
    (folder.checkpoints / "global_step_13").mkdir()  # a kill while writing it
    _, state = open_run_folder(tmp_path / "run", CONFIG)
    assert state["starts"][-1]["resumed_from"] == 12
    assert folder.hugging_face_export() == folder.checkpoints / "global_step_12" / "actor" / "huggingface"


def test_a_line_cut_by_a_kill_is_left_out_and_a_broken_one_is_named(tmp_path):
    path = tmp_path / "records.jsonl"
    append_jsonl(path, [{"step": 1}, {"step": 2, "visible": "三"}])
    path.write_text(path.read_text() + '{"step": 3, "vis')
    assert read_jsonl(path) == [{"step": 1}, {"step": 2, "visible": "三"}]
    path.write_text(path.read_text() + "\n" + json.dumps({"step": 4}) + "\n")
    with pytest.raises(ValueError, match=r"records\.jsonl:3"):
        read_jsonl(path)


def test_missing_file_has_no_rows(tmp_path):
    assert read_jsonl(RunFolder(tmp_path).metrics) == []


@pytest.mark.parametrize("old", [None, RECORD_SCHEMA - 1, RECORD_SCHEMA + 1], ids=["before schemas", "older", "newer"])
def test_a_run_of_a_version_with_other_records_is_refused_at_its_start(tmp_path, old):
    folder, state = open_run_folder(tmp_path / "run", CONFIG)
    del state["record_schema"]
    other = state if old is None else state | {"record_schema": old}
    write_json(folder.state, other)
    with pytest.raises(ValueError, match=rf"records have schema {old or 1}, .* or set run\.name=<new name>"):
        open_run_folder(tmp_path / "run", CONFIG)
    assert folder.read_state() == other
