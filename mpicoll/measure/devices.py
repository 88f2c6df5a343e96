"""What GPUs there are, found without importing anything that is made for them."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess


def nvidia_smi(*options: str) -> str:
    """What ``nvidia-smi`` prints; '' where it is missing, fails or hangs."""
    path = shutil.which("nvidia-smi")
    if path is None:
        return ""
    try:
        told = subprocess.run([path, *options], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return told.stdout if told.returncode == 0 else ""


def nvidia_gpus() -> list[str]:
    """The names of the NVIDIA GPUs here."""
    return re.findall(r"^GPU \d+: (.+?) \(UUID", nvidia_smi("-L"), re.MULTILINE)


def cuda_major() -> int | None:
    """The newest CUDA that the driver serves; None where it does not say."""
    match = re.search(r"CUDA Version:\s*(\d+)", nvidia_smi())
    return int(match[1]) if match else None


def gpu_aware(library: str) -> bool | None:
    """Whether the MPI library of that file takes device pointers; None where it cannot say.

    Asks ``MPIX_Query_cuda_support``, an extension that MPICH, Intel MPI and Open MPI have; call
    it after MPI is initialised.
    """
    try:
        query = ctypes.CDLL(library).MPIX_Query_cuda_support
    except (OSError, AttributeError):
        return None
    query.argtypes, query.restype = [], ctypes.c_int
    return bool(query())
