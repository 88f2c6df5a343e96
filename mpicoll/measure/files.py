"""Results in files, of which a crash loses nothing."""

from __future__ import annotations

import os
from pathlib import Path


def write_anew(path: Path, text: str) -> None:
    """Write a file anew, at no moment leaving half of one."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
