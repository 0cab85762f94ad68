"""How far apart two networks are on a box, with proof; and the ranges of one."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._arrays import box as as_box
from ._arrays import points as as_points
from ._result import Result, aside, make
from ._terms import Options, terms
from .errors import ArgumentError, DomainError
from .network import Network, as_network
from .results import Certificate, Witness

if TYPE_CHECKING:
    from typing import Unpack


@dataclass(frozen=True, repr=False, eq=False)
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
    text: str = aside()
    """The answer in words."""

    def __bool__(self) -> bool:
        if self.decision is not None:
            return self.decision == "within"
        return self.upper is not None and float(self.upper) <= (1 + self.gap) * float(self.lower)


@dataclass(frozen=True, repr=False, eq=False)
class Bounds(Result):
    """Certified ranges of the outputs of a network on a box."""

    outputs: list[dict[str, Any]] | None
    """`lower` and `upper` of every output, and the values that were `seen`."""
    cells: int
    """The number of boxes that were bounded."""
    limit: str | None
    """The limit that ended the search, if one did."""
    certificate: Certificate | None
    """The proof that the network differs from `constant` by at most half the width of each range."""
    constant: Network
    """The network whose outputs are the middles of the ranges everywhere."""
    text: str = aside()
    """The answer in words."""


def diff(
    a: Any,
    b: Any,
    *,
    box: Any = None,
    epsilon: float | None = None,
    gap: float = 0.1,
    relative: bool = False,
    as_given: bool = False,
    data: Any = None,
    resume: str | os.PathLike[str] | None = None,
    **options: Unpack[Options],
) -> Difference:
    """How far apart two networks (or files, or torch modules) can be on a box: both bounds, the worst input, and a certificate.

    The networks may be permuted, rescaled, pruned or of different depths: moves that keep the functions bring them to one shape first
    (`as_given` leaves the neurons where they are). Without `epsilon` the search ends when `upper <= (1 + gap) * lower`; with it, when it
    is decided whether the outputs differ by at most `epsilon`. With `relative`, `epsilon` is a part of the size of the outputs. A
    `time_limit` gives the best bounds until then; the search is written to the file `resume`, and the next call goes on with it.

    >>> import fiberscope as fs
    >>> found = fs.diff("zoo:deep", "zoo:deep-rounded", box=(-1, 1), epsilon=1e-9)
    >>> found.decision, found.lower <= found.upper <= 1e-9, bool(found)
    ('within', True, True)
    >>> bool(fs.check(found.certificate, "zoo:deep", "zoo:deep-rounded", (-1, 1), claim="within=1e-9"))
    True
    """
    if box is None:
        raise DomainError("box: a bounded box of inputs is needed; far away two networks are as far apart as they like")
    if epsilon is not None and not (epsilon >= 0 and np.isfinite(epsilon)):
        raise ArgumentError(f"epsilon: expected a number that is not negative, found {epsilon!r}")
    if not (gap >= 0 and np.isfinite(gap)):
        raise ArgumentError(f"gap: expected a number that is not negative, found {gap!r}")
    one, other = as_network(a, "a"), as_network(b, "b")
    points = None if data is None else as_points(data, "data", one.widths[0])
    file = None if resume is None else os.fspath(resume)
    with terms(**options) as given:
        text, words, proof = _native.diff(
            one._net, other._net, as_box(box), epsilon, float(gap), relative, as_given, points, file, given
        )
    found = json.loads(text)
    at = found["witness"]
    witness = at and Witness(*(np.array([float(v) for v in at[key]]) for key in ("x", "a", "b")), at["x_exact"])
    return make(
        Difference,
        found,
        witness=witness,
        output=at and at["output"] - 1,
        rows=found.get("data"),
        certificate=None if proof is None else Certificate(proof),
        text=words,
    )


def bounds(net: Any, *, box: Any, gap: float = 0.1, **options: Unpack[Options]) -> Bounds:
    """The range of every output on a box, with proof. The search ends when every end is known up to `gap` times the width of the values
    found, or at a `time_limit`.

    >>> import fiberscope as fs
    >>> found = fs.bounds("zoo:abs", box=(-1, 1))
    >>> found.outputs[0]["lower"] <= 0 and found.outputs[0]["upper"] >= 1
    True
    """
    if not (gap >= 0 and np.isfinite(gap)):
        raise ArgumentError(f"gap: expected a number that is not negative, found {gap!r}")
    network = as_network(net)
    with terms(**options) as given:
        text, words, proof, constant = _native.bounds(network._net, as_box(box), float(gap), given)
    return make(
        Bounds,
        text,
        certificate=None if proof is None else Certificate(proof),
        constant=Network._of(constant),
        text=words,
    )
