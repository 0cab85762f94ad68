"""The terms of long work: seed, threads, time limit, and where progress goes."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypedDict

from .errors import ArgumentError


class Options(TypedDict, total=False):
    """Keyword arguments of everything that may take long."""

    seed: int
    """Seed of everything random; the same seed gives the same result."""
    threads: int | None
    """Number of threads; one per core without it."""
    time_limit: float | None
    """Stop searching after this many seconds."""
    progress: bool | None
    """Show a line of progress with tqdm. Without it: if tqdm is installed and standard error is a terminal or a notebook."""


@dataclass
class Terms:
    """What the native part reads."""

    seed: int
    threads: int | None
    time_limit: float | None
    progress: Callable[[str], None] | None


@contextmanager
def terms(
    seed: int = 0, threads: int | None = None, time_limit: float | None = None, progress: bool | None = None
) -> Iterator[Terms]:
    """The terms, and a line of progress for as long as the work takes."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise ArgumentError(f"seed: expected a whole number from 0 to 2^64 - 1, found {seed!r}")
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise ArgumentError(f"threads: expected a positive number, found {threads!r}")
    if time_limit is not None and not (0 < time_limit <= 3.2e10 and math.isfinite(time_limit)):
        raise ArgumentError(f"time_limit: expected a positive number of seconds, found {time_limit!r}")
    line = _Line() if _wanted(progress) else None
    try:
        yield Terms(seed, threads, None if time_limit is None else float(time_limit), line)
    except OverflowError as error:
        raise ArgumentError(f"a number is out of range: {error}") from None
    finally:
        if line is not None:
            line.close()


def _wanted(progress: bool | None) -> bool:
    if progress is None:
        progress = sys.stderr is not None and sys.stderr.isatty() or "ipykernel" in sys.modules
        if progress:
            try:
                import tqdm.auto  # noqa: F401
            except ImportError:
                return False
    return progress


class _Line:
    """One line of progress, made when there is something to say."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise ArgumentError("progress=True needs tqdm: pip install tqdm") from None
        self._make = tqdm
        self._bar: Any = None

    def __call__(self, text: str) -> None:
        if self._bar is None:
            self._bar = self._make(bar_format="{desc} [{elapsed}]", leave=False)
        self._bar.set_description_str(text)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
