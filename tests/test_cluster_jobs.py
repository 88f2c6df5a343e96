"""The job scripts under a real SLURM on four hosts: each works, and each fault ends well."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster, Job, call, cluster, needs_cluster, until

pytestmark = needs_cluster

NAME = f"j{os.getpid()}"
LATE = 75
"""The exit status of a job that the time limit cut short."""

SMALL = ("allreduce", "--algorithms", "ring", "--sizes", "8,4K", "--time", "0")
THREE = ("allreduce", "--algorithms", "ring", "--sizes", "256K,512K,1M", "--time")
"""Three cells that take the links a while, in seconds that follow."""


@pytest.fixture(scope="module")
def four() -> Iterator[Cluster]:
    with cluster(NAME, "--hosts", "4", "--link", "200mbit") as made:
        yield made


def rows(path: Path) -> list[Any]:
    """The rows of a record."""
    found: list[Any] = json.loads(path.read_text())["rows"]
    return found


def in_the_middle(job: Job) -> None:
    """Wait until the first record of a job has its first cell."""
    until(lambda: bool(job.measured()), 40, job)


def all_idle(cluster: Cluster) -> None:
    """Wait until all hosts are back in service."""
    until(lambda: cluster.run("sinfo", "--noheader", "--format=%T").split() == ["idle"], 60)


def start_again(cluster: Cluster, job: Job) -> None:
    """Start a job that queues again, when nothing of its first run is left, without more delay."""
    until(lambda: job.shown("JobState") == "PENDING", 30, job)
    stepd = ("sh", "-c", "pgrep -c slurmstepd || true")
    until(lambda: int(cluster.run(*stepd)) == 0, 30, job)
    cluster.run("scontrol", "update", f"jobid={job.number}", "starttime=now")


def test_doctor_is_quick_and_names_the_hosts(four: Cluster, tmp_path: Path) -> None:
    start = time.monotonic()
    job = four.submit("doctor", tmp_path, options=("--nodes=4",))
    assert job.wait(20) == 0, job.output
    assert time.monotonic() - start < 20
    assert "hosts         h0: 0; h1: 1; h2: 2; h3: 3" in job.output
    assert "no problem found" in (job.results / "doctor.txt").read_text()


def test_sbatch_waits_for_check(four: Cluster, tmp_path: Path) -> None:
    job = four.submit("check", tmp_path, "bcast", "--quick", options=("--nodes=3", "--wait"))
    assert job.shown("JobState") == "COMPLETED"
    assert "0 wrong" in (job.results / "check.txt").read_text().splitlines()[-1]


def test_bench_leaves_its_launches_and_one_report(four: Cluster, tmp_path: Path) -> None:
    job = four.submit("bench", tmp_path, *SMALL, options=("--nodes=2",), MPICOLL_LAUNCHES="2")
    assert job.wait(60) == 0, job.output
    records = [json.loads((job.results / f"launch-{k}.json").read_text()) for k in (1, 2)]
    assert [record["environment"]["method"]["seed"] for record in records] == [1, 2]
    assert all(record["hosts"] == ["h0", "h1"] for record in records)
    merged = json.loads((job.results / "report.json").read_text())
    assert merged["environment"]["method"]["launches"] == 2
    assert len(merged["rows"]) == 4 and len(merged["rows"][0]["launch_medians_us"]) == 2
    assert "Wrong: 0" in job.output


def test_scaling_goes_through_the_numbers_of_ranks(four: Cluster, tmp_path: Path) -> None:
    job = four.submit("scaling", tmp_path, *SMALL, options=("--nodes=4",))
    assert job.wait(60) == 0, job.output
    assert sorted(path.name for path in job.results.glob("*.json")) == [
        "ranks-2.json", "ranks-3.json", "ranks-4.json",
    ]  # fmt: skip
    table = (job.results / "report.txt").read_text().splitlines()
    assert [line.split()[0] for line in table[-3:]] == ["2", "3", "4"]


def test_two_jobs_at_once_do_not_meet(four: Cluster, tmp_path: Path) -> None:
    jobs = [four.submit("doctor", tmp_path, options=("--nodes=4",)) for _ in range(2)]
    assert [job.wait(40) for job in jobs] == [0, 0]
    assert len({job.results for job in jobs}) == 2
    assert all((job.results / "doctor.txt").exists() for job in jobs)


@pytest.mark.parametrize("script", ["doctor", "bench"])
def test_a_wrong_launcher_ends_at_once_with_the_cure(
    four: Cluster, tmp_path: Path, script: str
) -> None:
    job = four.submit(script, tmp_path, options=("--nodes=4",), MPICOLL_LAUNCHER="srun --mpi=none")
    assert job.wait(20) != 0
    assert "srun announced 4 ranks (SLURM_STEP_NUM_TASKS=4), but" in job.output
    assert "sees 1" in job.output and "start with" in job.output


def test_a_killed_task_ends_the_job(four: Cluster, tmp_path: Path) -> None:
    job = four.submit("bench", tmp_path, *THREE, "15", options=("--nodes=4",))
    in_the_middle(job)
    victims = four.run("pgrep", "-f", "python -m mpi4py -m mpicoll bench").split()
    four.run("kill", "-KILL", victims[-1])
    assert job.wait(20) != 0
    assert "error: exit status" in job.output
    assert 2 <= len(rows(job.results / "launch-1.json")) < 6


def test_near_the_time_limit_all_is_saved_and_another_job_goes_on(
    four: Cluster, tmp_path: Path
) -> None:
    limit = ("--nodes=2", "--time=2", "--signal=B:USR1@85")
    job = four.submit("bench", tmp_path, *THREE, "45", options=limit, MPICOLL_LAUNCHES="1")
    assert job.wait(90) == LATE, job.output
    assert "the time limit is near" in job.output
    assert f"to go on: MPICOLL_RESUME={job.results}" in job.output
    assert not (job.results / "report.txt").exists()
    before = rows(job.results / "launch-1.json")
    assert 2 <= len(before) < 6
    resume = {"MPICOLL_RESUME": str(job.results), "MPICOLL_LAUNCHES": "1"}
    again = four.submit("bench", tmp_path, *THREE, "0", options=("--nodes=2",), **resume)
    assert again.wait(40) == 0, again.output
    after = rows(job.results / "launch-1.json")
    assert after[: len(before)] == before and len(after) == 6
    assert (job.results / "report.txt").exists() and not again.results.exists()


def test_a_node_that_goes_down_has_the_job_start_again_where_it_was(
    four: Cluster, tmp_path: Path
) -> None:
    job = four.submit("bench", tmp_path, *THREE, "15", options=("--nodes=2",), MPICOLL_LAUNCHES="1")
    in_the_middle(job)
    before = rows(job.results / "launch-1.json")
    four.run("scontrol", "update", "nodename=h1", "state=down", "reason=test")
    start_again(four, job)
    assert job.wait(90) == 0, job.output
    all_idle(four)
    assert job.shown("Restarts") == "1"
    record = json.loads((job.results / "launch-1.json").read_text())
    assert record["rows"][: len(before)] == before and len(record["rows"]) == 6
    assert len(record["resumed"]) == 1


def test_near_the_limit_a_job_can_queue_again_by_itself(four: Cluster, tmp_path: Path) -> None:
    settings = {"MPICOLL_REQUEUE": "1", "MPICOLL_LAUNCHES": "1"}
    job = four.submit("bench", tmp_path, *THREE, "12", options=("--nodes=2",), **settings)
    in_the_middle(job)
    four.run("scancel", "--batch", "--signal=USR1", str(job.number))
    until(lambda: job.shown("Restarts") == "1", 20, job)
    start_again(four, job)
    assert job.wait(60) == 0, job.output
    assert "the time limit is near" in job.output
    record = json.loads((job.results / "launch-1.json").read_text())
    assert len(record["rows"]) == 6 and len(record["resumed"]) == 1


def test_a_link_that_is_cut_ends_the_job(four: Cluster, tmp_path: Path) -> None:
    options = ("--nodes=3", "--no-requeue")
    job = four.submit("bench", tmp_path, *THREE, "15", options=options)
    in_the_middle(job)
    four.run("ip", "link", "set", "eth0", "down", on="h2")
    try:
        job.wait(60)
    finally:
        four.run("ip", "link", "set", "eth0", "up", on="h2")
        all_idle(four)
    assert job.shown("JobState") != "COMPLETED"
    assert 2 <= len(rows(job.results / "launch-1.json")) < 6


def test_results_that_cannot_be_written(four: Cluster, tmp_path: Path) -> None:
    job = four.submit("check", tmp_path, "--quick", MPICOLL_RESULTS="/proc/nowhere")
    assert job.wait(20) == 1
    assert "/proc/nowhere/check-" in job.output and "MPICOLL_RESULTS" in job.output


def test_a_full_disk(four: Cluster, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    hosts = four.run("scontrol", "show", "hostnames", "h[0-3]").split()
    for host in hosts:
        four.run("mount", "-t", "tmpfs", "-o", "size=16k", "disk", str(full), on=host)
    job = four.submit("bench", tmp_path, *SMALL[:-2], "--time", "8", MPICOLL_RESULTS=str(full))
    assert job.wait(40) != 0
    assert "No space left on device" in job.output and "error: exit status" in job.output


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"MPICOLL_VENV": "/nowhere"}, "MPICOLL_VENV=/nowhere: no virtual environment on h0; make"),
        ({"MPICOLL_VENV": "", "MPICOLL_IMAGE": "/no.sif"}, "MPICOLL_IMAGE=/no.sif: no such file"),
        ({"MPICOLL_MODULES": "openmpi/5"}, "there is no command module here"),
        ({"MPICOLL_RESUME": "/nowhere"}, "MPICOLL_RESUME=/nowhere: no such folder"),
    ],
)
def test_a_setting_that_is_wrong(
    four: Cluster, tmp_path: Path, settings: dict[str, str], message: str
) -> None:
    job = four.submit("check", tmp_path, **settings)
    assert job.wait(20) == 1
    assert message in job.output


def test_a_host_that_does_not_resolve(four: Cluster, tmp_path: Path) -> None:
    lacking = tmp_path / "hosts"
    lacking.write_text("127.0.0.1 localhost\n10.77.0.1 h0\n10.77.0.3 h2\n")
    four.run("mount", "--bind", str(lacking), "/etc/hosts", on="h0")
    try:
        job = four.submit("doctor", tmp_path, options=("--nodelist=h[0-1]",))
        assert job.wait(30) == 1
    finally:
        four.run("umount", "/etc/hosts", on="h0")
    assert "host h1 of this job does not resolve on h0" in job.output
    assert "sbatch --exclude=h1" in job.output


def test_ranks_across_the_hosts_without_slurm(four: Cluster) -> None:
    python = ("python", "-m", "mpi4py", "-m", "mpicoll", "doctor")
    ended = call("run", "--name", NAME, "-n", "6", "--", *python)
    assert "hosts         h0: 0 4; h1: 1 5; h2: 2; h3: 3" in ended.stdout, ended.stderr
    assert "allreduce     right" in ended.stdout


def test_a_script_that_was_not_submitted() -> None:
    ended = subprocess.run(["bash", "jobs/doctor.sbatch"], capture_output=True, text=True)
    assert ended.returncode == 1
    assert "this is a job script; submit it: sbatch jobs/doctor.sbatch" in ended.stderr
