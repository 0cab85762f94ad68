"""Networks, the questions about them, and the results that are networks again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _measures, _native, _plot
from ._arrays import box as as_box
from ._arrays import doubles
from ._parameters import Parameters, native
from ._result import ASIDE, Result, make
from ._results.measures import Conservation, Dimension, Folds, Info, Membership, Regions
from ._results.proof import Certificate
from ._terms import Options, terms
from .errors import ArgumentError, ShapeError, UndecidedError

if TYPE_CHECKING:
    import matplotlib.axes
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from ._arrays import BoxLike
    from ._parameters import NetworkLike


class Network(Parameters):
    """A feed-forward network with ReLU or identity activations.

    `weights` and `biases` have one array per layer, a weight of shape (outputs, inputs). Hidden layers have ReLU
    activations and the last layer none, unless `activations` says otherwise.

    >>> import numpy as np, fiberscope as fs
    >>> net = fs.Network([np.array([[1.0], [-1.0]]), np.array([[1.0, 1.0]])], [np.zeros(2), np.zeros(1)])
    >>> net
    Network(1-2-1, relu, 7 parameters, f64)
    >>> net(np.array([-3.0, 0.0, 0.5]))
    array([[3. ],
           [0. ],
           [0.5]])
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        found = self.info()
        return f"<div>{found._repr_html_()}</div>"

    def info(self, box: BoxLike = None, **options: Unpack[Options]) -> Info:
        """What the network is: roles of its neurons, hidden hyperplanes, identifiability.

        >>> import fiberscope as fs
        >>> found = fs.load("zoo:hiding-two").info()
        >>> found.widths, found.hides, found.identifiable
        ([3, 3, 2, 1], [{'layer': 1, 'neuron': 2}], False)
        """
        return _measures.info(self._net, box, **options)

    def reduce(self, box: BoxLike = None, *, round: bool = False, **options: Unpack[Options]) -> Reduced:
        """The same function with fewer neurons, exactly.

        Steps after which no scales make doubles of the parameters are left out (`left`). With `round` they are taken and the parameters
        rounded; `exact` is false then, and `bound` bounds the change of the outputs on a bounded box.

        >>> import fiberscope as fs
        >>> small = fs.load("zoo:cancelling").reduce()
        >>> small.widths_before > small.widths_after, bool(fs.equiv("zoo:cancelling", small.network))
        (True, True)
        """
        with terms(**options) as given:
            found = _native.reduce(self._net, as_box(box), bool(round), given)
        proof = None if found.certificate is None else Certificate(found.certificate)
        network = Network._of(found.network)
        return make(Reduced, found.json, of=(self._net,), network=network, certificate=proof, text=found.text)

    def canon(self, **options: Unpack[Options]) -> Canonical:
        """The canonical representative, and a fingerprint of the function.

        The same fingerprint proves the same function. Different ones prove different functions if `complete` is true for both networks;
        otherwise see `meaning`.

        >>> import fiberscope as fs
        >>> a, b = fs.load("zoo:deep"), fs.load("zoo:deep-shuffled")
        >>> a.canon().fingerprint == b.canon().fingerprint
        True
        """
        with terms(**options) as given:
            found = _native.canon(self._net, given)
        if found is None:
            raise UndecidedError("the time limit was reached before the canonical form was")
        return make(Canonical, found.json, of=(self._net,), network=Network._of(found.network), text=found.text)

    def relabel(self, **options: Unpack[Options]) -> Network:
        """The network with neurons permuted and scaled at random: other parameters, the same function."""
        with terms(**options) as given:
            return Network._of(_native.relabel(self._net, given))

    def fiber(
        self,
        *,
        orthant: bool = False,
        components: int = 32,
        classes: int | None = None,
        **options: Unpack[Options],
    ) -> Fiber:
        """All parameters with this function: components, dimension, symmetries; points and paths.

        >>> import fiberscope as fs
        >>> fiber = fs.load("zoo:linear-many").fiber()
        >>> len(fiber.sample(3))
        3
        """
        with terms(**options) as given:
            found = _native.fiber(self._net, orthant, components, classes, given)
        return make(Fiber, found.json, of=(self._net,), text=found.text, network=self, orthant=orthant)

    def hidden_symmetries(
        self, box: BoxLike = None, *, ends: bool = True, max_regions: int = 20_000, **options: Unpack[Options]
    ) -> HiddenSymmetries:
        """What else than scalings keeps the function near the parameters, and why.

        Iterates over the symmetries, each with its mechanism, its directions and, with `ends`, a network along it that
        is proved to compute the same function.

        >>> import fiberscope as fs
        >>> net = fs.load("zoo:hiding-two")
        >>> found = net.hidden_symmetries()
        >>> [(one.mechanism, one.dimensions, one.verdict) for one in found]
        [('hidden', 1, 'equivalent')]
        >>> bool(fs.check(found[0].certificate, net, found[0].network))
        True
        """
        with terms(**options) as given:
            found = _native.hidden_symmetries(self._net, as_box(box), bool(ends), max_regions, given)
        data = json.loads(found.json)
        text, rank = data.pop("text"), data.pop("rank_certificate")
        networks = iter(found.networks)
        symmetries = [_symmetry(one, networks) for one in data["symmetries"]]
        proof = None if rank is None else Certificate(rank)
        return make(HiddenSymmetries, data, of=(self._net,), symmetries=symmetries, certificate=proof, text=text)

    def regions(
        self,
        box: BoxLike = None,
        *,
        max_regions: int | None = None,
        count_only: bool = False,
        method: str | None = None,
        executor: Any = None,
        **options: Unpack[Options],
    ) -> Regions:
        """The linear regions, counted exactly, on a box or on all of R^n.

        With an `executor` (a process pool, a Dask client's `get_executor()`, `fs.RayExecutor()`) its workers count them, with the same result.

        >>> import fiberscope as fs
        >>> found = fs.load("zoo:abs").regions(box=(-1, 1))
        >>> found.regions, found.f_vector
        (2, [3, 2])
        """
        return _measures.regions(self._net, box, max_regions, count_only, method, executor, **options)

    def folds(self, box: BoxLike = None, *, max_regions: int = 20_000, **options: Unpack[Options]) -> Folds:
        """Where the function bends: the fold-set, its dependency graph, and whether it identifies the parameters."""
        return _measures.folds(self._net, box, max_regions, **options)

    def functional_dimension(
        self,
        X: ArrayLike | None = None,
        *,
        box: BoxLike = None,
        spectrum: bool = False,
        float32: bool = False,
        generic: bool = False,
        samples: int = 10_000,
        max_regions: int = 10_000,
        primes: int | None = None,
        memory: int = 12_000,
        device: str = "cpu",
        **options: Unpack[Options],
    ) -> Dimension:
        """The rank of the parameter Jacobian, exactly: on the batch X, or without one on a decisive set of a box or of R^n.

        Eliminations run on `device`: "cpu", "cuda", "cuda:1", ..., or "auto", a GPU if one can be used; the answer is
        the same. They take at most `memory` megabytes, of the GPU and of the host together.

        >>> import fiberscope as fs
        >>> net = fs.load("zoo:abs")
        >>> found = net.functional_dimension([[-1.0], [2.0], [3.0], [4.0]])
        >>> found.rank, found.parameters, found.regions_sampled
        (3, 7, 2)
        """
        if X is None:
            if spectrum or float32 or generic:
                raise ArgumentError("spectrum, float32 and generic need a batch X")
            return _measures.dimension_on_regions(
                self._net,
                box,
                samples=samples,
                max_regions=max_regions,
                primes=primes,
                memory=memory,
                device=device,
                **options,
            )
        if box is not None:
            raise ArgumentError("expected a batch X or a box, found both")
        return _measures.dimension_on_batch(
            self._net,
            X,
            spectrum=spectrum,
            float32=float32,
            generic=generic,
            primes=primes,
            memory=memory,
            device=device,
            **options,
        )

    def ntk(self, X: ArrayLike, *, trace: bool = False, memory: int = 12_000, **options: Unpack[Options]) -> np.ndarray:
        """The empirical neural tangent kernel on a batch; with `trace` summed over the outputs."""
        return _measures.kernel(self._net, X, trace, memory, **options)

    def conserve(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        loss: str = "mse",
        time: float = 0.5,
        steps: int = 32,
        halvings: int = 4,
        **options: Unpack[Options],
    ) -> Conservation:
        """What gradient flow on these samples conserves, and how it drifts with steps of finite size."""
        return _measures.conserve(self._net, X, y, loss, time, steps, halvings, **options)

    def slice(
        self, *, points: ArrayLike | None = None, directions: ArrayLike | None = None, origin: ArrayLike | None = None
    ) -> Network:
        """The network on a plane: through three points, or through `origin` along two directions. It has two inputs.

        >>> import fiberscope as fs
        >>> fs.load("zoo:hiding-two").slice(directions=[[1, 0, 0], [0, 1, 0]]).widths
        [2, 3, 2, 1]
        """
        if points is not None and directions is None:
            return Network._of(_native.slice_through(self._net, _vectors(points, "points", 3)))
        if directions is not None and points is None:
            start = np.zeros(self.widths[0]) if origin is None else doubles(origin, "origin", 1)
            return Network._of(_native.slice_along(self._net, start.tolist(), _vectors(directions, "directions", 2)))
        raise ArgumentError("slice: expected points=[p, q, r] or directions=[u, v]")

    def plot(
        self,
        box: BoxLike = None,
        *,
        ax: matplotlib.axes.Axes | None = None,
        weights: bool = False,
        **options: Unpack[Options],
    ) -> matplotlib.axes.Axes:
        """Draws the network with matplotlib: regions and bent hyperplanes of two inputs, the graph of one. Returns the axis."""
        with terms(**options) as given:
            shown = json.loads(_native.plot(self._net, as_box(box), given))
        return _plot.plot(shown, ax, weights)


def _symmetry(data: dict[str, Any], networks: Iterator[_native.Net]) -> HiddenSymmetry:
    """A symmetry of its JSON, with the next network if it has an end."""
    end = data["end"] or {}
    proof = end.pop("certificate", None)
    return make(
        HiddenSymmetry,
        data,
        verdict=end.get("verdict"),
        bound=end.get("bound"),
        network=Network._of(next(networks)) if end else None,
        certificate=None if proof is None else Certificate(proof),
    )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HiddenSymmetry(Result):
    """What lets parameters move without a change of the function, and a network where it leads."""

    mechanism: str
    """`dead`, `unseen`, `idle`, `linear`, `hidden`, `twins`, `proportional`, `dependent`, `balanced` or `unrecognised`."""
    neurons: list[dict[str, Any]]
    """The neurons it is about (`layer`, `neuron`, from 1)."""
    dimensions: int
    """How many dimensions it adds to scalings and to the symmetries before it."""
    reason: str
    directions: list[list[dict[str, Any]]]
    """The directions: parameters (`layer`, `neuron`, `input`, `None` for the bias) and their `speed`."""
    verdict: str | None
    """`equivalent`, `within`, `undecided`, or `None` if no end was reached or asked for."""
    bound: float | None
    """Where numbers were rounded: the outputs differ by no more."""
    network: Network | None = field(metadata=ASIDE)
    """The network at the end of the path."""
    certificate: Certificate | None = field(metadata=ASIDE)
    """The proof, for `fs.check(certificate, net, network)`."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HiddenSymmetries(Result):
    """What else than scalings keeps a function near the parameters. Iterates over the symmetries."""

    parameters: int
    scalings: int
    rank: dict[str, Any]
    """The rank that is `proved`, and how many dimensions are `unexplained` at `least` and at `most`."""
    gap: int | None
    """The dimension of the kernel beyond scalings, on the `regions`; `None` if a limit came first."""
    regions: dict[str, Any]
    explained: dict[str, int]
    """How many dimensions of the gap each mechanism explains."""
    limit: str | None
    symmetries: list[HiddenSymmetry] = field(metadata=ASIDE)
    certificate: Certificate | None = field(metadata=ASIDE)
    """The proof of the rank, for `fs.check(certificate, net)`."""
    text: str = field(metadata=ASIDE)
    """The answer in words."""

    def __len__(self) -> int:
        return len(self.symmetries)

    def __iter__(self) -> Iterator[HiddenSymmetry]:
        return iter(self.symmetries)

    def __getitem__(self, at: int) -> HiddenSymmetry:
        return self.symmetries[at]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
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
    moves: Any = field(metadata=ASIDE)
    text: str = field(metadata=ASIDE)
    """The answer in words."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
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
    moves: Any = field(metadata=ASIDE)
    text: str = field(metadata=ASIDE)
    """The answer in words."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Networks(Result):
    """Several networks. Iterates over them."""

    networks: list[Network] = field(metadata=ASIDE)

    def __len__(self) -> int:
        return len(self.networks)

    def __iter__(self) -> Iterator[Network]:
        return iter(self.networks)

    def __getitem__(self, at: int) -> Network:
        return self.networks[at]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Points(Networks):
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

    def __bool__(self) -> bool:
        return self.connected is not False


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Fiber(Result):
    """What is known of the fiber of a network."""

    dimension: int | None
    """The dimension of the pieces modulo permutation and scaling; `None` if the theory does not cover the network, or there are too many pieces."""
    generic_dimension: int | None
    """The dimension of the generic pieces."""
    components: list[dict[str, Any]]
    """The pieces that were listed: orientation, numbers of linear and dead neurons, whether they are generic and whether empty, dimension and reason."""
    given: dict[str, Any] | None
    """The piece of the network; `None` if it lies in none, for the reason `given_in_no_piece`."""
    given_in_no_piece: str | None
    hidden: dict[str, Any] | None
    """The hyperplane that the next layer hides."""
    symmetries: list[str]
    """The symmetries, as sentences."""
    latex: str | None = field(metadata=ASIDE)
    """The description as a LaTeX document."""
    text: str = field(metadata=ASIDE)
    """The description in words."""
    network: Network = field(metadata=ASIDE)
    """The network."""
    orthant: bool = field(metadata=ASIDE)
    """Whether the network is considered on the nonnegative orthant."""

    @property
    def covered(self) -> bool:
        """Whether the theory describes all generic parameters of the fiber."""
        return bool(self.data["covered"])

    def sample(
        self,
        count: int = 1,
        *,
        exact: bool = False,
        orientation: str | None = None,
        linear: int | None = None,
        **options: Unpack[Options],
    ) -> Points:
        """Random points of a piece, each compared with the network. A piece is named by its `orientation` and its number of `linear` neurons; without them it is the network's own.

        >>> import fiberscope as fs
        >>> net = fs.load("zoo:hiding-two")
        >>> points = net.fiber().sample(2, exact=True)
        >>> points.exact, bool(fs.equiv(net, points[1])), points[1] == net
        (2, True, False)
        """
        if count < 0:
            raise ArgumentError(f"count: expected a number from 0 on, found {count}")
        with terms(**options) as given:
            found = _native.fiber_sample(self.network._net, self.orthant, count, exact, orientation, linear, given)
        return _points(found, self.network._net)

    def path(self, a: NetworkLike, b: NetworkLike, *, steps: int = 16, **options: Unpack[Options]) -> Points:
        """The points of a path from one parameter of the fiber to another, each compared with the network."""
        if not 1 <= steps <= 100_000:
            raise ArgumentError(f"steps: expected 1 to 100000, found {steps}")
        ends = native(a, "a"), native(b, "b")
        with terms(**options) as given:
            found = _native.fiber_path(self.network._net, *ends, self.orthant, steps, given)
        return _points(found, self.network._net, *ends)

    def contains(self, other: NetworkLike, **options: Unpack[Options]) -> Membership:
        """Whether a network lies in the fiber, and in which piece; if not, which equation or inequality fails.

        >>> import fiberscope as fs
        >>> fiber = fs.load("zoo:hiding-two").fiber()
        >>> bool(fiber.contains("zoo:hiding-two-translated")), bool(fiber.contains("zoo:hiding-two-too-far"))
        (True, False)
        """
        return _measures.contains(self.network._net, native(other), self.orthant, **options)

    def __contains__(self, other: NetworkLike) -> bool:
        return bool(self.contains(other))


def _points(found: _native.Networks, *of: _native.Net) -> Points:
    data = json.loads(found.json)
    if "undecided" in data:
        reasons = "; ".join(data["undecided"])
        raise UndecidedError(f"the theory of generic fibers does not cover the network: {reasons}")
    return make(Points, data, of=of, networks=[Network._of(net) for net in found.networks])


def _vectors(value: ArrayLike, what: str, count: int) -> list[list[float]]:
    found = doubles(value, what, 2)
    if len(found) != count:
        raise ShapeError(f"{what}: expected {count} vectors, found {len(found)}")
    return [[float(x) for x in row] for row in found]
