"""The results, one class per question, with the names that the command uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._result import Result, aside

if TYPE_CHECKING:
    from .network import Network


class Witness(NamedTuple):
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


@dataclass(frozen=True, repr=False, eq=False)
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

    def __bool__(self) -> bool:
        return self.verdict in ("equivalent", "equivalent_up_to_rounding")


@dataclass(frozen=True, repr=False, eq=False)
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
    text: str = aside()
    """The whole story, in words."""

    def __bool__(self) -> bool:
        return self.valid


@dataclass(frozen=True, repr=False, eq=False)
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
    fiber_dimension: int | None
    """The dimension of the listed pieces of the fiber, modulo permutation and scaling."""
    fiber_generic_dimension: int | None
    """The dimension of the generic ones among them."""
    fiber_components: int | None
    """The number of pieces that have points."""
    text: str = aside()
    """The same in words."""


@dataclass(frozen=True, repr=False, eq=False)
class Reduced(Result):
    """A network with fewer neurons and the same function."""

    network: Network
    widths_before: list[int]
    widths_after: list[int]
    exact: bool
    """Whether the function is exactly the same; otherwise parameters were rounded, as was asked for."""
    bound: float | None
    """The outputs differ by no more; `None` if parameters were rounded and the domain is not bounded."""
    relative: float
    """The largest change of a parameter by rounding, relative to its size."""
    certificate: Certificate | None
    """The proof of equality or of the bound; `None` without a bound."""
    complete: bool
    """False if the time limit was reached: more neurons might go."""
    rational_widths: list[int] | None
    """The widths that a reduction has whose parameters are no doubles, if there is one."""
    left: list[dict[str, Any]]
    """The steps that were left out because of that: `layer`, `neurons` (from 1, of the result) and `step`."""
    moves: Any = aside()


@dataclass(frozen=True, repr=False, eq=False)
class Canonical(Result):
    """The canonical representative of a network's function."""

    network: Network
    fingerprint: str
    """The same fingerprint proves the same function."""
    complete: bool
    """Whether another fingerprint of a network for which this is true as well proves another function."""
    meaning: str
    """What equal and different fingerprints prove, in a sentence."""
    exact: bool
    """Whether the representative's numbers are doubles; otherwise they were rounded."""
    relative: float
    """The largest change of a parameter by rounding, relative to its size."""
    moves: Any = aside()


@dataclass(frozen=True, repr=False, eq=False)
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
    moves: Any = aside()


@dataclass(frozen=True, repr=False, eq=False)
class Points(Result):
    """Points of a fiber, each compared with the given network. Iterates over the networks."""

    max_difference: float | None
    """The outputs differ by no more (0 if all are exact)."""
    exact: int | None
    """Points that compute the same function exactly, proved."""
    up_to_rounding: int | None
    unproved: int | None
    connected: bool | None
    """For a path: whether one was found inside a piece."""
    reason: str | None
    """Why there is no path."""
    networks: list[Network] = aside()

    def __len__(self) -> int:
        return len(self.networks)

    def __iter__(self) -> Iterator[Network]:
        return iter(self.networks)

    def __getitem__(self, at: int) -> Network:
        return self.networks[at]

    def __bool__(self) -> bool:
        return self.connected is not False


@dataclass(frozen=True, repr=False, eq=False)
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


@dataclass(frozen=True, repr=False, eq=False)
class Regions(Result):
    """The linear regions of a network."""

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
    svg: str | None = aside()
    """The picture, for one and two inputs."""

    def _repr_svg_(self) -> str | None:
        return self.svg


@dataclass(frozen=True, repr=False, eq=False)
class Folds(Result):
    """The fold-set of a network: where its function bends."""

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
    reason: str | None
    svg: str | None = aside()
    """The dependency graph."""

    def _repr_svg_(self) -> str | None:
        return self.svg


@dataclass(frozen=True, repr=False, eq=False)
class FoldMatch(Result):
    """Whether permutations and scalings turn one network into another. True in an `if` iff they do, exactly or up to rounding."""

    matched: bool
    exact: bool | None
    """Whether they do exactly."""
    relative: float | None
    """The largest relative difference of corresponding parameters after them: 0 if exact."""
    method: str
    layers: list[dict[str, Any]] | None
    reason: str | None

    def __bool__(self) -> bool:
        return self.matched


@dataclass(frozen=True, repr=False, eq=False)
class Dimension(Result):
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
    text: str = aside()
    svg: str | None = aside()

    def __int__(self) -> int:
        if self.rank is None:
            raise ValueError("the rank is not known: the limits stopped the computation")
        return self.rank

    def _repr_svg_(self) -> str | None:
        return self.svg


@dataclass(frozen=True, repr=False, eq=False)
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


@dataclass(frozen=True, repr=False, eq=False)
class Conservation(Result):
    """What gradient flow conserves."""

    drift: list[dict[str, Any]]
    """One entry per run: integrator, step, loss, and how much the conserved quantities drifted."""
    always_active: list[list[int]]
    order_gradient_descent: float | None
    """The drift falls like this power of the step."""
    order_runge_kutta: float | None
    hidden: dict[str, int] | None


@dataclass(frozen=True, repr=False, eq=False)
class Construction(Result):
    """A network with a proved property."""

    network: Network
    twin: Network | None
    """Other parameters with the same function."""
    certificate: Certificate
    claims: list[str]


@dataclass(frozen=True, repr=False, eq=False)
class Extraction(Result):
    """A network recovered from queries. True in an `if` iff fresh queries verified it."""

    verdict: str
    """`verified`, `partial` or `failed`."""
    reason: str | None
    """What is missing."""
    network: Network | None
    """The network, up to permutation and scaling of neurons."""
    queries: int
    layers: list[dict[str, int]]
    fidelity: dict[str, Any] | None
    """How well it agreed with the function on fresh queries."""
    noise: float
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
    disagreements: list[dict[str, Any]] = aside()

    def __bool__(self) -> bool:
        return self.verdict == "verified"


@dataclass(frozen=True, repr=False, eq=False)
class LeakReport(Result):
    """What a model leaks to queries, against the precision of its answers."""

    oracle: str
    parameters: int
    domain: list[float]
    leak: list[dict[str, Any]]
    """One row per precision: verdict, queries, largest difference of outputs, digits of the parameters."""
    text: str = aside()


@dataclass(frozen=True, repr=False, eq=False)
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
    text: str = aside()


@dataclass(frozen=True, repr=False, eq=False)
class TourPage(Result):
    """The tour that was written."""

    report: Path
    """The file."""
    claims: list[dict[str, Any]]
    """The claims whose certificates were checked."""
    text: str = aside()


@dataclass(frozen=True, repr=False, eq=False)
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
    text: str = aside()


@dataclass(frozen=True, repr=False, eq=False)
class Trained(Result):
    """A training from one seed."""

    network: Network
    seed: int
    finished: bool
    diverged: int | None
    """The epoch in which the loss ceased to be finite."""
    records: list[dict[str, Any]]
    """Loss, functional dimension, regions, states of neurons and drift over time."""


@dataclass(frozen=True, repr=False, eq=False)
class Strata(Result):
    """The strata of the fiber of a linear network."""

    widths: list[int]
    rank: int
    n_strata: int | None
    n_edges: int | None
    fiber_dim: int | None
    fiber_components: Any
    strata: list[dict[str, Any]] | None
    """Every stratum: ranks `r`, bars `omega`, `dim`, `dof`, `rdof`, `components`."""
    edges: list[list[Any]] | None
    count: str | None
    """With `count_only`: the number of strata, as a text, as it may have many digits."""

    def __len__(self) -> int:
        return int(self.count) if self.count is not None else len(self.strata or [])


@dataclass(frozen=True, repr=False, eq=False)
class Stratum(Result):
    """The stratum in which a linear network lies."""

    name: str
    r: list[list[int]]
    omega: list[list[int]]
    dim: int
    dof: int
    rdof: int
    components: Any
    rank: int
    up: list[dict[str, Any]]
    down: list[dict[str, Any]]


@dataclass(frozen=True, repr=False, eq=False)
class Moved(Result):
    """A move of a linear network to another stratum; without a move, those that are possible."""

    network: Network | None
    omega: list[list[int]] | None
    up: list[dict[str, Any]] | None
    down: list[dict[str, Any]] | None
    to: list[list[int]] | None
    max_difference: float | None
    distance: float | None


@dataclass(frozen=True, repr=False, eq=False)
class LinearPoints(Result):
    """Linear networks: a path, a walk or a sample. Iterates over the networks."""

    connected: bool | None
    path: str | None
    reason: str | None
    number: int | None
    """A sample: the number of the stratum."""
    distance: float | None
    max_difference: float | None
    networks: list[Network] = aside()

    def __len__(self) -> int:
        return len(self.networks)

    def __iter__(self) -> Iterator[Network]:
        return iter(self.networks)

    def __getitem__(self, at: int) -> Network:
        return self.networks[at]

    def __bool__(self) -> bool:
        return self.connected is not False
