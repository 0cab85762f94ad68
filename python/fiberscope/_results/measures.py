"""Answers in numbers and words: anatomy, regions, folds, dimension, volume, conserved quantities, membership."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .._result import ASIDE, Drawable, Result
from .proof import Certificate


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Info(Result):
    """What a network is."""

    widths: list[int]
    parameters: int
    neurons: list[dict[str, int]]
    """For every hidden layer the numbers of dead, linear and nonlinear neurons."""
    bottleneck: bool | None
    generic: dict[str, Any]
    """Whether the parameters are generic (`holds`), and the conditions that were checked."""
    hides: list[dict[str, int]]
    """Neurons whose hyperplane the next layer hides."""
    identifiable: bool | None
    """Whether the function determines the parameters up to permutation and scaling; `None` if not decided."""
    reason: str
    locally_identifiable: bool | None
    """Whether the parameters near the given ones with the same function are its positive scalings; `True` is proved."""
    local_reason: str
    local_dimension: dict[str, int | None]
    """Bounds `lower` and `upper` of the fiber's dimension near the parameters, scalings included."""
    rank: dict[str, Any] | None
    """What was proved of the rank of the parameter Jacobian, and for which neurons something is open."""
    certificate: Certificate | None = field(metadata=ASIDE)
    """The certificate of that rank, for `fs.check(certificate, net)`."""
    fiber_dimension: int | None
    """The dimension of the listed pieces of the fiber, modulo permutation and scaling."""
    fiber_generic_dimension: int | None
    """The dimension of the generic ones among them."""
    fiber_components: int | None
    """The number of pieces that have points."""
    text: str = field(metadata=ASIDE)
    """The same in words."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Regions(Drawable):
    """The linear regions of a network. The picture shows those of one and two inputs."""

    regions: int | None
    """`None` if a limit stopped the count; then `partial_regions` is what was found."""
    f_vector: list[int] | None
    bounded_regions: int | None
    euler: int | None
    facets: int | None
    visible_facets: int | None
    method: str | None
    hidden_neurons: list[list[int]] | None
    partial_regions: int | None
    estimate: float | None


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Folds(Drawable):
    """The fold-set of a network: where its function bends. The picture is the dependency graph."""

    order: int | None
    pieces: list[dict[str, Any]] | None
    edges: list[list[int]] | None
    transparent: bool | None
    """Whether every hidden layer has a neuron that is not off, everywhere; None if a limit came first."""
    opaque_at: dict[str, Any] | None
    """A layer that is off somewhere, with a point where it is."""
    general: bool | None
    certified_identifiable: bool | None
    """Whether the function determines the parameters among general networks."""
    identifiable_if_general: bool | None
    """True if it does provided that the network is general, which is open where cells or masks are too many to be listed."""
    reason: str | None


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class FoldMatch(Result):
    """Whether permutations and scalings turn one network into another. True in an `if` iff they do, exactly or up to rounding."""

    matched: bool | None
    """None if neurons that are zero or multiples of each other leave it open."""
    exact: bool | None
    """Whether they do exactly."""
    relative: float | None
    """The largest relative difference of corresponding parameters after them: 0 if exact."""
    method: str
    layers: list[dict[str, Any]] | None
    reason: str | None

    def __bool__(self) -> bool:
        return self.matched is True


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Dimension(Drawable):
    """The functional dimension of a network."""

    rank: int | None
    """The rank; `None` if the limits stopped the computation."""
    rank_float32: int | None
    """What single precision would say."""
    rows: int
    parameters: int
    regions_sampled: int
    bounds: dict[str, int | None]
    """Upper bounds by name."""
    symmetry_dimension: int | None
    warnings: list[str] | None
    device: str | None
    """What the eliminations ran on, if a device was asked for."""
    text: str = field(metadata=ASIDE)

    def __int__(self) -> int:
        if self.rank is None:
            raise ValueError("the rank is not known: the limits stopped the computation")
        return self.rank


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Volume(Result):
    """The fraction of parameters that their function identifies."""

    exact: str
    """The fraction."""
    decimal: float
    lower: float
    upper: float
    monte_carlo: float
    monte_carlo_error: float

    def __float__(self) -> float:
        return self.decimal


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Conservation(Result):
    """What gradient flow conserves."""

    drift: list[dict[str, Any]]
    """One entry per run: integrator, step, loss, and how much the conserved quantities drifted."""
    always_active: list[list[int]]
    order_gradient_descent: float | None
    """The drift falls like this power of the step."""
    order_runge_kutta: float | None
    hidden: dict[str, int] | None


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Dynamics(Drawable):
    """What happened along a training. The picture shows loss, functional dimension, neurons and conserved quantities."""

    events: list[dict[str, Any]]
    """What changed between two records (`after`, `until`): the state of a neuron on the data (`layer`, `neuron`, `before`,
    `now`: dead, linear or nonlinear), or the `functional_dimension`, and with it the `kernel_dimension` (parameters less that)."""
    largest_drift: list[dict[str, Any]]
    """Of every hidden layer the neuron whose |w_out|^2 - |w_in|^2 - b^2 changed most."""
    drift_by_step: list[dict[str, float]]
    orders: list[float]
    """By which power of the step the drift grows, from each step to the next."""
    text: str = field(metadata=ASIDE)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Membership(Result):
    """Whether a network lies in a fiber. True in an `if` iff it does."""

    member: bool | None
    orientation: str | None
    """The orientation of its piece."""
    linear: int | None
    """The number of linear neurons there."""
    reason: str | None
    """Why it lies in no piece."""
    undecided: list[str] | None
    """The conditions that keep the theory from covering the fiber."""

    def __bool__(self) -> bool:
        return bool(self.member)
