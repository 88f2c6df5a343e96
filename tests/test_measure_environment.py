"""Where a measurement was taken, from texts made up by hand and from this process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mpi4py import MPI

from mpicoll.measure import devices
from mpicoll.measure.environment import (
    allowed_cores,
    describe,
    library,
    library_path,
    thread_level,
    variables,
)

MAPS = """\
7f00-7f01 r-xp 00000000 fe:00 11    /usr/lib/libmpi_cxx_stuff.txt
7f01-7f02 r-xp 00000000 fe:00 12    /opt/python/mpi4py/MPI.mpich.cpython-311.so
7f02-7f03 rw-p 00000000 00:00 0
7f03-7f04 r-xp 00000000 fe:00 13    {path}
"""


@pytest.mark.parametrize(
    "path",
    ["/usr/lib/libmpi.so.12", "/opt/a b/lib/libmpi.so.40.30.2", "/x/libmpich.so", "/x/libmpi.so"],
)
def test_the_mapped_library_is_found(tmp_path: Path, path: str) -> None:
    maps = tmp_path / "maps"
    maps.write_text(MAPS.format(path=path))
    assert library_path(str(maps)) == path


def test_no_map_is_no_error(tmp_path: Path) -> None:
    assert library_path(str(tmp_path / "none")) == ""


def test_library_in_use() -> None:
    found = library()
    assert found["vendor"].startswith(MPI.get_vendor()[0])
    assert not found["path"] or Path(found["path"]).is_file()


def test_variables_are_listed_ones_and_no_secrets() -> None:
    given = {
        "OMPI_MCA_btl": "self", "UCX_TLS": "shm", "SLURM_NTASKS": "4", "PMI_RANK": "0",
        "FI_PROVIDER": "tcp", "I_MPI_FABRICS": "shm", "MPICH_ASYNC": "1",
        "HOME": "/root", "SLURM_JWT": "secret", "UCX_AUTH_TOKEN": "secret", "PATH": "/bin",
    }  # fmt: skip
    assert list(variables(given)) == [
        "FI_PROVIDER", "I_MPI_FABRICS", "MPICH_ASYNC", "OMPI_MCA_btl", "PMI_RANK", "SLURM_NTASKS",
        "UCX_TLS",
    ]  # fmt: skip


def test_description_of_one_rank() -> None:
    told = describe(MPI.COMM_SELF)
    (host,) = told["hosts"]
    assert told["cores"] == {host: len(allowed_cores())}
    assert told["mapping"] == [{"rank": 0, "host": host, "cores": allowed_cores()}]
    assert told["oversubscribed"] is False
    assert set(told["versions"]) == {"python", "mpicoll", "mpi4py", "numpy"}


def test_thread_levels() -> None:
    assert thread_level(MPI.THREAD_MULTIPLE) == "multiple"
    assert thread_level(MPI.THREAD_SINGLE) == "single"


def test_no_library_says_what_to_install() -> None:
    program = "from mpicoll.measure.environment import library; library()"
    environment = {**os.environ, "MPI4PY_LIBMPI": "/nowhere/libmpi.so"}
    told = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=30
    )
    assert told.returncode == 1
    last = told.stderr.strip().splitlines()[-1]
    assert "NoLibrary: no MPI library: mpi4py cannot load one" in last
    assert "pip install 'mpicoll[mpich]'" in last


SMI = """\
GPU 0: NVIDIA H200 (UUID: GPU-1)
GPU 1: NVIDIA H200 (UUID: GPU-2)
"""


def test_gpus_are_read_from_what_nvidia_smi_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {("-L",): SMI, (): "| Driver Version: 570.1   CUDA Version: 12.8 |"}
    monkeypatch.setattr(devices, "nvidia_smi", lambda *options: told[options])
    assert devices.nvidia_gpus() == ["NVIDIA H200", "NVIDIA H200"]
    assert devices.cuda_major() == 12


def test_gpu_awareness_of_what_is_no_mpi_library_is_unknown() -> None:
    assert devices.gpu_aware("/nowhere/libmpi.so") is None
    assert devices.gpu_aware("libc.so.6") is None
