"""``jobs/cluster``: what it makes, how fast, and that nothing is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cluster import COMMAND, ROOT, call, cluster, needs_cluster

pytestmark = needs_cluster

OTHERS = f"t{os.getpid()}"
"""A name for clusters that is not in use."""


def left(name: str) -> list[str]:
    """What there is of a cluster: files, processes, networks."""
    files = [str(path) for path in Path("/run/mpicoll-cluster").glob(name)]
    words = [path.read_bytes().split(b"\0") for path in Path("/proc").glob("[0-9]*/cmdline")]
    processes = [
        str(word) for word in words if b"onehost.machine" in word and name.encode() in word
    ]
    devices = [path.name for path in Path("/sys/class/net").glob("port*")]
    return files + processes + devices


def test_eight_hosts_with_slurm_come_and_go_in_time() -> None:
    start = time.monotonic()
    with cluster(OTHERS, "--hosts", "8", "--link", "100mbit") as eight:
        assert time.monotonic() - start < 15
        assert left(OTHERS)
        names = eight.run("srun", "--nodes=8", "hostname").split()
        assert sorted(names) == [f"h{number}" for number in range(8)]
        again = call("up", "--name", OTHERS, "--hosts", "8", "--link", "100mbit")
        assert again.returncode == 0 and "up already" in again.stdout
        other = call("up", "--name", OTHERS, "--hosts", "4")
        assert other.returncode == 1 and "take it down first" in other.stderr
        status = call("status", "--name", OTHERS)
        assert status.returncode == 0 and "8 hosts, links of 100mbit, SLURM" in status.stdout
        start = time.monotonic()
    assert time.monotonic() - start < 5
    assert not left(OTHERS)
    assert call("down", "--name", OTHERS).returncode == 0
    assert call("status", "--name", OTHERS).returncode == 1


SEND = """
import socket, sys, time
with socket.create_server(("", 7000)) as server:
    print("ready", flush=True)
    peer, _ = server.accept()
    start = time.perf_counter()
    while data := peer.recv(1 << 20):
        pass
    print(time.perf_counter() - start)
"""

RECEIVE = """
import socket
with socket.create_connection(("{host}", 7000)) as peer:
    peer.sendall(bytes(1 << 20))
"""


def seconds(name: str, source: str, target: str) -> float:
    """How long 1 MiB takes from one host to another, by TCP."""
    line = [COMMAND, "run", "--name", name, "--on", target, "--", sys.executable, "-c", SEND]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout and server.stdout.readline() == "ready\n"
        script = RECEIVE.format(host=target)
        call("run", "--name", name, "--on", source, "--", sys.executable, "-c", script)
        return float(server.stdout.readline())


def test_links_have_their_rates_and_lead_nowhere_else() -> None:
    with cluster(OTHERS, "--hosts", "3", "--link", "80mbit", "--slow", "2:8mbit", "--no-slurm"):
        # 1 MiB with 4.6 % of headers is 8.77 Mbit; a burst of 64 KiB at each end comes for nothing
        assert 0.09 < seconds(OTHERS, "h0", "h1") < 0.25
        assert 0.9 < seconds(OTHERS, "h1", "h2") < 1.3
        assert 0.9 < seconds(OTHERS, "h2", "h0") < 1.3
        routes = call("run", "--name", OTHERS, "--on", "h0", "--", "ip", "route").stdout
        assert routes.split()[:3] == ["10.77.0.0/24", "dev", "eth0"] and routes.count("\n") == 1
        hosts = call("run", "--name", OTHERS, "--on", "h1", "--", "ssh", "h7", "true")
        assert hosts.returncode == 255 and "Could not resolve hostname h7" in hosts.stderr
        there = call("run", "--name", OTHERS, "--", "ssh", "-x", "h1", "hostname; exit 3")
        assert (there.stdout, there.returncode) == ("h1\n", 3)


NODE = """
from platform import node
from mpi4py import MPI
inside = MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED)
print(f"{node()}:{inside.rank}/{inside.size}\\n", end="")
"""


def test_ranks_of_one_host_share_its_memory() -> None:
    with cluster(OTHERS, "--hosts", "3", "--no-slurm"):
        head = ("run", "--name", OTHERS, "-n", "4", "--per-host")
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        ran = call(*head, "1,2,1", "--", sys.executable, "-c", NODE, PATH=path)
        assert sorted(ran.stdout.split()) == ["h0:0/1", "h1:0/2", "h1:1/2", "h2:0/1"], ran.stderr
        told = call(*head, "2", "--", "true")
        assert "--per-host 2: that is 6 ranks on 3 hosts, not -n 4" in told.stderr
        told = call(*head, "1,1,1,1", "--", "true")
        assert "expected such as 2, or up to 3 numbers" in told.stderr


def test_two_at_once() -> None:
    with cluster(OTHERS, "--hosts", "2") as one, cluster(f"{OTHERS}b", "--hosts", "3") as other:
        assert len(one.run("srun", "--nodes=2", "hostname").split()) == 2
        assert len(other.run("srun", "--nodes=3", "hostname").split()) == 3
    assert not left(OTHERS) and not left(f"{OTHERS}b")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("delay", [0, 0.1])
def test_nothing_is_left_after_an_interruption(number: signal.Signals, delay: float) -> None:
    process = coming_up()
    time.sleep(delay)
    process.send_signal(number)
    assert process.wait(10) != 0
    assert not left(OTHERS)


def coming_up(**variables: str) -> subprocess.Popen[bytes]:
    """A command that has just started the first process of a cluster."""
    process = subprocess.Popen(
        [COMMAND, "up", "--name", OTHERS, "--hosts", "8"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **variables},
    )  # fmt: skip
    number = Path("/run/mpicoll-cluster", OTHERS, "pid")
    while process.poll() is None and not (number.exists() and number.read_text()):
        time.sleep(0.005)
    return process


def test_nothing_is_left_after_a_failure(tmp_path: Path) -> None:
    broken = tmp_path / "slurmd"
    broken.write_text("#!/bin/sh\necho slurmd: no luck >&2\nexit 1\n")
    broken.chmod(0o755)
    start = time.monotonic()
    ended = call("up", "--name", OTHERS, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert ended.returncode == 1 and time.monotonic() - start < 10
    assert "slurmd-h0" in ended.stderr and "ended too soon" in ended.stderr
    assert "slurmd-h0: slurmd: no luck" in ended.stderr
    assert not left(OTHERS)


@pytest.mark.parametrize("delay", [0, 0.02, 0.1])
def test_a_killed_command_leaves_what_the_next_one_clears(delay: float) -> None:
    process = coming_up()
    time.sleep(delay)
    process.kill()
    process.wait()
    assert call("down", "--name", OTHERS).returncode == 0
    assert not left(OTHERS)


def test_what_had_not_come_far_is_ended_too(tmp_path: Path) -> None:
    slow = tmp_path / "unshare"
    slow.write_text('#!/bin/sh\nsleep 3\nexec /usr/bin/unshare "$@"\n')
    slow.chmod(0o755)
    process = coming_up(PATH=f"{tmp_path}:{os.environ['PATH']}")
    process.kill()
    process.wait()
    assert call("down", "--name", OTHERS).returncode == 0
    assert not left(OTHERS)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--hosts", "0"], "--hosts 0: expected 1 to 64"),
        (["--link", "fast"], "rate 'fast': expected such as 100mbit"),
        (["--slow", "4:1mbit"], "--slow 4: expected a host from 0 to 3"),
        (["--slow", "1mbit"], "expected HOST:RATE such as 3:25mbit"),
        (["--name", "../x"], "--name '../x': expected a word"),
    ],
)
def test_bad_values_are_refused(words: list[str], message: str) -> None:
    ended = call("up", *(["--name", OTHERS] if "--name" not in words else []), *words)
    assert ended.returncode in (1, 2) and message in ended.stderr
    assert not left(OTHERS)


def test_missing_packages_are_named() -> None:
    script = (
        "import sys; sys.path.insert(0, 'jobs'); from onehost import needs; "
        "import shutil; shutil.which = lambda name, path: None if name in "
        "('munged', 'sbatch') else name; needs.require(True)"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert "missing packages: slurm-client, munge; install them: apt-get install" in ended.stderr
    assert "or --no-slurm" in ended.stderr


def test_a_command_where_nothing_is_up() -> None:
    ended = call("run", "--name", OTHERS, "--", "true")
    assert ended.returncode == 1
    assert f"cluster '{OTHERS}' is not up" in ended.stderr
    assert "start it: jobs/cluster up" in ended.stderr
