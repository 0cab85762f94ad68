"""Networks that were looked for: aligned, constructed, extracted, trained."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .._result import ASIDE, Result
from ..network import Network
from .proof import Certificate


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Aligned(Result):
    """A network rewritten to be close to another."""

    network: Network
    distance_before: float
    distance_after: float
    exact: bool
    """Whether the result computes the function of the second network exactly; otherwise its parameters were rounded."""
    rounded: float
    """The largest change of a parameter by that rounding, relative to its size."""
    relative: float | None
    """If the second network is the first permuted and scaled up to rounding: the largest relative difference of their parameters."""
    certificate: Certificate | None
    """The proof that the function is kept, if it is exactly."""
    barrier_before: float | None
    """The interpolation barrier on the given data."""
    barrier_after: float | None
    losses_before: list[float] | None = field(metadata=ASIDE)
    """The loss on the given data along the straight line between the parameters, the second network as it is."""
    losses_after: list[float] | None = field(metadata=ASIDE)
    """The same, the second network aligned."""
    unmatched_layers: list[int] = field(metadata=ASIDE)
    """Layers, counted from 1, that were left in their order: they have too many neurons that are no channels of an image."""
    moves: Any = field(metadata=ASIDE)
    text: str = field(metadata=ASIDE)
    """The answer in words."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Construction(Result):
    """A network with a proved property."""

    network: Network
    twin: Network | None
    """Other parameters with the same function."""
    certificate: Certificate
    claims: list[str]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Extraction(Result):
    """A network recovered from queries. True in an `if` iff fresh queries verified it."""

    verdict: str
    """`verified`, `partial` or `failed`."""
    reason: str | None
    """What is missing."""
    network: Network | None
    """The network, up to permutation and scaling of neurons."""
    queries: int
    layers: list[dict[str, int]] | None
    fidelity: dict[str, Any] | None
    """How well it agreed with the function on fresh queries."""
    agreement: dict[str, Any] | None
    """With `labels`: how its classes agreed with those of the function on fresh queries."""
    open: list[str] | None
    """With `labels`: what the classes do not determine."""
    noise: float | None
    """The error of one answer, measured or given."""
    remarks: list[str]
    asked: int
    """Queries that the function was asked; the others were answered by the log."""
    replayed: int
    log: str | None
    """The file of queries and answers."""
    max_relative_error: float | None
    """With the truth: the largest error of a parameter after alignment, relative to the largest parameter of its layer."""
    equiv: dict[str, Any] | None
    """With the truth: the verdict of the exact comparison on the domain."""
    max_error: float | None
    """With the truth: the largest error of a parameter after alignment."""
    disagreements: list[dict[str, Any]] | None = field(metadata=ASIDE)

    def __bool__(self) -> bool:
        return self.verdict == "verified"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Trained(Result):
    """A training from one seed."""

    network: Network
    seed: int
    finished: bool
    diverged: int | None
    """The epoch in which the loss ceased to be finite."""
    records: list[dict[str, Any]]
    """Loss, functional dimension, regions, states of neurons and drift over time."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
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
    text: str = field(metadata=ASIDE)
    """The answer in words."""
