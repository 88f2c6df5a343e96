"""``python -m mpicoll`` is the command ``mpicoll``."""

from .cli import main

if __name__ == "__main__":
    main(prog_name="mpicoll")
