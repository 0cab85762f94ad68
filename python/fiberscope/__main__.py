"""The command `fiberscope`: `python -m fiberscope`, and the console script that comes with the package."""

from __future__ import annotations

import signal
import sys

from . import _native


def main() -> int:
    """Runs the command with the arguments of the process and returns its exit code."""
    # Python's handler would wait for the command to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.command(["fiberscope", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
