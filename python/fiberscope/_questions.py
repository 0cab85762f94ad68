"""Questions about one or two networks: arguments to the native part, its answers to results."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._arrays import box as as_box
from ._arrays import doubles, targets
from ._arrays import points as as_points
from ._result import make
from ._terms import Options, terms
from .errors import ArgumentError, ShapeError, UndecidedError
from .results import (
    Aligned,
    Canonical,
    Certificate,
    Checked,
    Conservation,
    Construction,
    Dimension,
    Equivalence,
    FoldMatch,
    Folds,
    Info,
    Reduced,
    Regions,
    Trained,
    Volume,
    Witness,
)

if TYPE_CHECKING:
    from typing import Unpack

    from .network import Network


def _network(value: Any, what: str = "network") -> Network:
    from .network import as_network

    return as_network(value, what)


def _wrap(net: _native.Net) -> Network:
    from .network import Network

    return Network._of(net)


def info(net: Network, box: Any, **options: Unpack[Options]) -> Info:
    with terms(**options) as given:
        data, text = _native.info(net._net, as_box(box), given)
    return make(Info, data, text=text)


def equiv(
    a: Any,
    b: Any,
    *,
    box: Any = None,
    exact: bool = False,
    tolerance: float | None = None,
    data: Any = None,
    resume: str | os.PathLike[str] | None = None,
    **options: Unpack[Options],
) -> Equivalence:
    """Whether two networks (or files, or torch modules) compute the same function, with a proof or a witness.

    "Up to rounding" means, on a box: the outputs differ by at most `bound` there, at most 1/1024 of their size; without a box: after moves
    that keep both functions the parameters agree one by one to the relative difference `relative`, and nothing is said about the outputs.
    `exact` refuses that answer. With a `tolerance` the question is another: true iff the outputs are proved to differ by at most that much,
    "different" iff a point where they differ by more is shown. `data` are inputs at which a difference is looked for first.
    A search that a `time_limit` ends is written to the file `resume`; the next call goes on with it.

    >>> import fiberscope as fs
    >>> found = fs.equiv("zoo:hiding-two", "zoo:hiding-two-translated")
    >>> found.verdict, found.method, bool(found)
    ('equivalent', 'bottleneck', True)
    >>> found = fs.equiv("zoo:hiding-two", "zoo:hiding-two-too-far")
    >>> found.verdict, found.witness.a, found.witness.b
    ('different', array([0.]), array([0.5]))
    """
    if tolerance is not None and not (tolerance > 0 and np.isfinite(tolerance)):
        raise ArgumentError(f"tolerance: expected a positive number, found {tolerance!r}")
    if exact and tolerance is not None:
        raise ArgumentError("exact=True and a tolerance contradict each other")
    one, other = _network(a, "a"), _network(b, "b")
    given_points = None if data is None else as_points(data, "data", one.widths[0])
    file = None if resume is None else os.fspath(resume)
    with terms(**options) as given:
        text, proof = _native.equiv(one._net, other._net, as_box(box), exact, tolerance, given_points, file, given)
    found = json.loads(text)
    at = found["witness"]
    # Numbers beyond the doubles come as texts and become infinite here; `x_exact` has the point as it is.
    witness = at and Witness(*(np.array([float(v) for v in at[key]]) for key in ("x", "a", "b")), at["x_exact"])
    return make(Equivalence, found, witness=witness, certificate=None if proof is None else Certificate(proof))


def check(
    certificate: Any,
    a: Any,
    b: Any,
    box: Any = None,
    *,
    space: bool = False,
    claim: str | None = None,
    **options: Unpack[Options],
) -> Checked:
    """Checks a certificate (a `Certificate`, its JSON text or bytes, or a file) about two networks, in exact arithmetic.

    A certificate proves its own claim on its own domain. With `box` or `space`, and `claim` ("equivalent", "different" or "within=EPS"), the
    question is whether it proves that. A file is read as a stream. Raises `UndecidedError` if it is not checked within `time_limit`.

    >>> import fiberscope as fs
    >>> proof = fs.equiv("zoo:deep", "zoo:deep-shuffled").certificate
    >>> bool(fs.check(proof, "zoo:deep", "zoo:deep-shuffled")), bool(fs.check(proof, "zoo:deep", "zoo:deep"))
    (True, False)
    >>> found = fs.check(proof, "zoo:deep", "zoo:deep-shuffled", (-1, 1), claim="within=1e-9")
    >>> bool(found), found.claim, found.domain, found.kind
    (True, 'equivalent', 'space', 'moves')
    """
    if space and box is not None:
        raise ArgumentError("expected box or space, found both")
    if (
        isinstance(certificate, os.PathLike)
        or isinstance(certificate, str)
        and not certificate.lstrip().startswith("{")
    ):
        source: Any = os.fspath(certificate)
    else:
        source = certificate.encode() if isinstance(certificate, str) else bytes(certificate)
    first, second = _network(a, "a")._net, _network(b, "b")._net
    with terms(**options) as given:
        data, text = _native.check(source, first, second, as_box(box), space, claim, given)
    if json.loads(data)["valid"] is None:
        raise UndecidedError("the certificate was not checked within the time limit")
    return make(Checked, data, text=text)


def reduce(net: Network, box: Any = None, round: bool = False, **options: Unpack[Options]) -> Reduced:
    with terms(**options) as given:
        small, data, proof = _native.reduce(net._net, as_box(box), bool(round), given)
    return make(Reduced, data, network=_wrap(small), certificate=None if proof is None else Certificate(proof))


def canon(net: Network, **options: Unpack[Options]) -> Canonical:
    with terms(**options) as given:
        found = _native.canon(net._net, given)
    if found is None:
        raise UndecidedError("the time limit was reached before the canonical form was")
    made, data = found
    return make(Canonical, data, network=_wrap(made))


def align(a: Any, b: Any, *, data: Any = None, scaling: str = "auto", **options: Unpack[Options]) -> Aligned:
    """The second network with its neurons permuted and scaled to be as close to the first as possible.

    If it is the first one permuted and scaled, by any factors and up to the rounding of its parameters, `relative` is the largest
    relative difference of the parameters: 0 if they are exactly related. `scaling` is "auto" (real factors in that case, and the
    result is rounded; otherwise powers of two, which keep the function exactly), "powers-of-two", "real" or "none".

    >>> import fiberscope as fs
    >>> found = fs.align("zoo:deep", "zoo:deep-shuffled")
    >>> found.distance_before > found.distance_after, found.distance_after, found.exact, found.relative
    (True, 0.0, True, 0.0)
    >>> found = fs.align("zoo:deep", "zoo:deep-rounded")
    >>> found.exact, 0 < found.relative < 1e-15
    (False, True)
    """
    if scaling not in ("auto", "powers-of-two", "real", "none"):
        raise ArgumentError(f'expected scaling "auto", "powers-of-two", "real" or "none", found {scaling!r}')
    first, second = _network(a, "a"), _network(b, "b")
    given_points = None if data is None else as_points(data, "data", first.widths[0])
    with terms(**options) as given:
        made, found, proof = _native.align(first._net, second._net, given_points, scaling, given)
    return make(Aligned, found, network=_wrap(made), certificate=None if proof is None else Certificate(proof))


def regions(
    net: Network,
    box: Any,
    max_regions: int | None,
    count_only: bool,
    method: str | None,
    **options: Unpack[Options],
) -> Regions:
    with terms(**options) as given:
        data, svg = _native.regions(net._net, as_box(box), max_regions, count_only, method, given)
    return make(Regions, data, svg=svg)


def folds(net: Network, box: Any, max_regions: int, **options: Unpack[Options]) -> Folds:
    with terms(**options) as given:
        data, svg = _native.folds(net._net, as_box(box), max_regions, given)
    return make(Folds, data, svg=svg)


def match_folds(a: Any, b: Any, *, box: Any = None, max_regions: int = 20_000, **options: Unpack[Options]) -> FoldMatch:
    """The permutations and scalings that turn one network into another, read off from where their functions bend.

    Where rounding has made the functions different, they are read off the parameters; `exact` is false then, and `relative` the largest
    relative difference of the parameters.

    >>> import fiberscope as fs
    >>> bool(fs.match_folds("zoo:deep", "zoo:deep-shuffled", box=(-1, 1)))
    True
    >>> near = fs.match_folds("zoo:deep", "zoo:deep-rounded", box=(-1, 1))
    >>> near.matched, near.exact, near.relative < 1e-15
    (True, False, True)
    """
    with terms(**options) as given:
        data = _native.match_folds(_network(a, "a")._net, _network(b, "b")._net, as_box(box), max_regions, given)
    if data is None:
        raise UndecidedError(f"a limit was reached: more than {max_regions} regions, or out of time")
    return make(FoldMatch, data)


def dimension(
    net: Network, points: Any, box: Any, given_options: tuple[Any, ...], **options: Unpack[Options]
) -> Dimension:
    spectrum, float32, generic, samples, max_regions, primes, memory = given_options
    if points is None:
        if spectrum or float32 or generic:
            raise ArgumentError("spectrum, float32 and generic need a batch X")
        with terms(**options) as given:
            data, text, svg = _native.dimension_on_regions(
                net._net, as_box(box), samples, max_regions, primes, memory, given
            )
    else:
        if box is not None:
            raise ArgumentError("expected a batch X or a box, found both")
        batch = as_points(points, "X", net.widths[0])
        with terms(**options) as given:
            data, text, svg = _native.dimension_on_batch(
                net._net, batch, spectrum, float32, generic, primes, memory, given
            )
    return make(Dimension, data, text=text, svg=svg)


def conserve(
    net: Network,
    X: Any,
    y: Any,
    loss: str,
    time: float,
    steps: int,
    halvings: int,
    **options: Unpack[Options],
) -> Conservation:
    if loss not in ("mse", "cross-entropy"):
        raise ArgumentError(f'loss {loss!r}: expected "mse" or "cross-entropy"')
    inputs = as_points(X, "X", net.widths[0])
    data = np.ascontiguousarray(np.hstack([inputs, targets(y, "y", len(inputs))]))
    with terms(**options) as given:
        found = _native.conserve(net._net, data, loss == "cross-entropy", float(time), steps, halvings, given)
    return make(Conservation, found)


def volume(widths: Any, *, samples: int | None = None, **options: Unpack[Options]) -> Volume:
    """The fraction of parameters of three layers with a bottleneck that their function identifies, exactly.

    >>> import fiberscope as fs
    >>> fs.volume([3, 3, 2, 1], samples=1000).exact
    '193/256'
    """
    with terms(**options) as given:
        return make(Volume, _native.volume(list(widths), samples, given))


def construct(kind: str, widths: Any, **options: Unpack[Options]) -> Construction:
    """Builds a network with a proved property: kind "identifiable", "hiding" or "nonlocal".

    >>> import fiberscope as fs
    >>> built = fs.construct("hiding", [3, 3, 2, 1])
    >>> bool(fs.check(built.certificate, built.network, built.twin))
    True
    """
    if kind not in ("identifiable", "hiding", "nonlocal"):
        raise ArgumentError(f'construct {kind!r}: expected "identifiable", "hiding" or "nonlocal"')
    with terms(**options) as given:
        net, twin, proof, claims = _native.construct(kind, list(widths), given)
    return make(
        Construction,
        {"kind": kind, "widths": list(widths), "claims": claims},
        network=_wrap(net),
        twin=None if twin is None else _wrap(twin),
        certificate=Certificate(proof),
    )


class _Settings:
    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)


def train(
    X: Any = None,
    y: Any = None,
    *,
    task: str | None = None,
    widths: Any = None,
    epochs: int = 1000,
    seeds: int = 1,
    loss: str = "mse",
    optimizer: str = "adam",
    rate: float = 0.01,
    weight_decay: float = 1e-4,
    momentum: float = 0.9,
    batch: int = 16,
    init: str = "he",
    precision: str = "f32",
    every: int = 50,
    dimension: bool = True,
    **options: Unpack[Options],
) -> list[Trained]:
    """Trains dense ReLU networks, one per seed, and records their functional dimension on the way.

    The samples are X and y, or a task of the paper: f1, f2, f3, g1, g2, g3, heating, cooling.

    >>> import fiberscope as fs
    >>> run, = fs.train(task="f1", widths=[1, 4, 1], epochs=2, every=1)
    >>> [record["epoch"] for record in run.records], run.network.widths
    ([0, 1, 2], [1, 4, 1])
    """
    if (task is None) == (X is None):
        raise ArgumentError("nothing to train on: expected X and y, or a task")
    if task is not None:
        samples = _native.task_samples(task)
        if samples is None:
            raise ArgumentError(
                f"no task {task!r}; expected f1, f2, f3, g1, g2, g3, heating or cooling (also -minmax, -raw)"
            )
        inputs, outputs = samples
    else:
        inputs = doubles(X, "X")
        inputs = inputs.reshape(-1, 1) if inputs.ndim == 1 else inputs
        if inputs.ndim != 2:
            raise ShapeError(f"X: expected one point per row, found shape {inputs.shape}")
        outputs = targets(y, "y", len(inputs))
    if widths is None:
        if loss == "cross-entropy":
            raise ArgumentError("cross-entropy needs widths: the last width is the number of classes")
        widths = [inputs.shape[1], 10, 10, 10, 10, outputs.shape[1]]
    settings = _Settings(
        widths=list(widths), epochs=epochs, seeds=seeds, loss=loss, optimizer=optimizer, rate=float(rate),
        weight_decay=float(weight_decay), momentum=float(momentum), batch=batch, init=init, precision=precision,
        every=every, dimension=dimension,
    )  # fmt: skip
    with terms(**options) as given:
        nets, data = _native.train(inputs, outputs, settings, given)
    return [make(Trained, run, network=_wrap(net)) for net, run in zip(nets, json.loads(data))]
