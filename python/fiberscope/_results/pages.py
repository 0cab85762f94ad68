"""Pages that were written, and what a model leaks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._result import ASIDE, Result


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LeakReport(Result):
    """What a model leaks to queries, against the precision of its answers."""

    oracle: str
    parameters: int
    domain: list[float]
    leak: list[dict[str, Any]]
    """One row per precision: verdict, queries, largest difference of outputs, digits of the parameters, hidden layers that came out, what the answers cost."""
    text: str = field(metadata=ASIDE)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ReportPage(Result):
    """A report that was written."""

    report: Path
    """The file."""
    verdict: str | None
    """The verdict on two networks."""
    claims: list[dict[str, Any]]
    """What the page says, and of what."""
    checker: bool
    """Whether a button of the page checks its certificates again."""
    text: str = field(metadata=ASIDE)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class TourPage(Result):
    """The tour that was written."""

    report: Path
    """The file."""
    claims: list[dict[str, Any]]
    """The claims whose certificates were checked."""
    text: str = field(metadata=ASIDE)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Reproduction(Result):
    """Experiments of the papers, run again."""

    experiments: list[dict[str, Any]]
    """Per experiment: the paper's claim, the verdict on it, means with standard errors."""
    files: list[str]
    """Figures, tables and the page."""
    page: Path
    """The page that shows everything."""
    complete: bool
    """Whether no time limit cut it short."""
    text: str = field(metadata=ASIDE)
