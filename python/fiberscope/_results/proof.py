"""Proofs: verdicts, witnesses, certificates and what the checker says of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._result import ASIDE, Result


@dataclass(frozen=True, slots=True, eq=False)
class Witness:
    """An input at which two networks differ, and what they give there."""

    x: np.ndarray
    """The input, as doubles."""
    a: np.ndarray
    """The first network's output."""
    b: np.ndarray
    """The second network's output."""
    exact: list[str]
    """The input as fractions; the networks differ exactly there."""


class Certificate(str):
    """A certificate: the JSON text that the checker reads."""

    def save(self, path: str | Path) -> None:
        """Writes the certificate to a file."""
        Path(path).write_text(self, encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Reads a certificate from a file."""
        return cls(Path(path).read_text(encoding="utf-8"))

    def __repr__(self) -> str:
        return f"Certificate({len(self)} characters)"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Equivalence(Result):
    """Whether two networks compute the same function. True in an `if` iff the command would exit with 0: they do, also up to rounding; with a
    tolerance, iff they are proved to differ by no more."""

    verdict: str
    """`equivalent`, `equivalent_up_to_rounding`, `different` or `undecided`."""
    method: str
    """How it was found."""
    domain: Any
    """Where it was proved."""
    bound: float | str | None
    """The outputs differ by no more on the box (certified, rounded up); a text if it is beyond the doubles."""
    size: float | str | None
    """Up to rounding on a box: an absolute value that an output takes there (rounded down)."""
    relative: float | None
    """Up to rounding without a box: the parameters agree one by one to this relative difference."""
    difference: float | str | None
    """The largest difference of an output that was seen (rounded down): at the witness, or at `differ_at`."""
    differ_at: list[float | str] | None
    """Up to rounding and undecided: a point where the outputs differ, if one is known."""
    tolerance: float | None
    """The difference that was asked about."""
    witness: Witness | None
    """Where they differ."""
    certificate: Certificate | None
    """The proof; `fs.check` checks it again."""
    explored: float | None
    """Undecided: the part of the search that was finished."""
    text: str = field(metadata=ASIDE)
    """The answer in words."""

    def __bool__(self) -> bool:
        return self.verdict in ("equivalent", "equivalent_up_to_rounding")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Checked(Result):
    """What the checker says of a certificate. True in an `if` iff the certificate proves what was asked."""

    valid: bool
    """Whether the certificate proves what was asked: its own claim, or that of the question."""
    holds: bool
    """Whether the certificate proves its own claim."""
    claim: str
    """What the certificate claims: "equivalent", "equivalent_up_to_rounding", "different", ..."""
    domain: Any
    """Where: "space", or {"box": [[lower, upper], ...]} with exact fractions."""
    bound: float | None
    """The bound of the claim, rounded up, if it has one."""
    kind: str
    """The kind of evidence."""
    reason: str
    """Why it was accepted or refused, or what it proves instead."""
    text: str = field(metadata=ASIDE)
    """The whole story, in words."""

    def __bool__(self) -> bool:
        return self.valid


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Difference(Result):
    """Certified bounds of the largest difference of two networks on a box. True in an `if` iff the command would exit with 0."""

    lower: float | str
    """The largest difference that was found, evaluated exactly and rounded down."""
    upper: float | str | None
    """No input of the box has a larger difference (rounded up); `None` if no bound is known."""
    witness: Witness | None
    """The input with the largest difference found."""
    output: int | None
    """The output that differs most there, counted from 0."""
    decision: str | None
    """With `epsilon`: "within", "exceeds" or "undecided"."""
    outputs: list[dict[str, Any]]
    """`lower` and `upper` of every output."""
    cells: int
    """The number of boxes that were bounded."""
    size: dict[str, Any] | None
    """With `relative`: bounds of the largest absolute value of an output of the first network."""
    relative: dict[str, Any] | None
    """With `relative`: bounds of the largest difference divided by that."""
    rows: dict[str, Any] | None
    """With `data`: what the networks do on its rows (max, mean, quantiles, agreement of decisions)."""
    certificate: Certificate | None
    """The proof; `fs.check` checks it again."""
    gap: float
    """How close the bounds were asked to come."""
    text: str = field(metadata=ASIDE)
    """The answer in words."""

    def __bool__(self) -> bool:
        if self.decision is not None:
            return self.decision == "within"
        return self.upper is not None and float(self.upper) <= (1 + self.gap) * float(self.lower)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SameClass(Result):
    """Whether the second network decides for the class of the first wherever that one is sure. True in an `if` iff it is proved to."""

    holds: bool | None
    """True: proved for every input of the box. False: `witness` is an input where it does not. `None`: neither is known."""
    witness: Witness | None
    """An input where the first network is sure of its class, and the second does not decide for it."""
    classes: tuple[int, int] | None
    """There: the class of the first network, and another one that the second does not put below it. Counted from 0."""
    margin: float
    """The lead of the first network that the proof is about, rounded to a double."""
    confidence: float | None
    """The softmax probability that was asked for."""
    states: list[str] | None
    """For every class "same" (settled), "never" (the first network is proved never to be so sure of it) or "open"."""
    seen: list[int]
    """The classes that the first network was seen to be so sure of, counted from 0."""
    reason: str | None
    """Undecided: why."""
    cells: int
    """The number of boxes that were bounded."""
    rows: dict[str, Any] | None
    """With `data`: what the networks do on its rows (max, mean, quantiles, agreement of decisions)."""
    certificate: Certificate | None
    """The proof, or the input; `fs.check` checks it again."""
    text: str = field(metadata=ASIDE)
    """The answer in words."""

    def __bool__(self) -> bool:
        return self.holds is True
