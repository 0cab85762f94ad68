"""Questions about two networks or none: arguments to the native part, its answers to results."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _executor, _native
from ._arrays import box as as_box
from ._arrays import doubles, targets
from ._arrays import points as as_points
from ._parameters import native
from ._result import make
from ._results.measures import Dimension, FoldMatch, Volume
from ._results.networks import Aligned, Construction, Trained
from ._results.proof import Certificate, Checked, Equivalence, Witness
from ._terms import Options, terms
from .errors import ArgumentError, ShapeError, UndecidedError
from .network import Network

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from ._arrays import BoxLike
    from ._parameters import NetworkLike


def equiv(
    a: NetworkLike,
    b: NetworkLike,
    *,
    box: BoxLike = None,
    exact: bool = False,
    tolerance: float | None = None,
    data: ArrayLike | None = None,
    resume: str | os.PathLike[str] | None = None,
    executor: Any = None,
    **options: Unpack[Options],
) -> Equivalence:
    """Whether two networks (or files, or torch modules) compute the same function, with a proof or a witness.

    "Up to rounding" means, on a box: the outputs differ by at most `bound` there, at most 1/1024 of their size; without a box: after moves
    that keep both functions the parameters agree one by one to the relative difference `relative`, and nothing is said about the outputs.
    `exact` refuses that answer. With a `tolerance` the question is another: true iff the outputs are proved to differ by at most that much,
    "different" iff a point where they differ by more is shown; on a box it is decided by the search of `fs.diff`, given time.
    `data` are inputs at which a difference is looked for first.
    A search that a `time_limit` ends is written to the file `resume`; the next call goes on with it. With an `executor` its workers
    search all joint linear regions, if nothing else decides.

    >>> import fiberscope as fs
    >>> found = fs.equiv("zoo:hiding-two", "zoo:hiding-two-translated")
    >>> found.verdict, found.method, bool(found)
    ('equivalent', 'bottleneck', True)
    >>> found = fs.equiv("zoo:hiding-two", "zoo:hiding-two-too-far")
    >>> found.verdict, found.witness.a, found.witness.b
    ('different', array([0.]), array([0.5]))
    >>> found = fs.equiv("zoo:identifiable", "zoo:identifiable-nudged", box=(-1, 1), tolerance=1e-6)
    >>> bool(found), found.bound <= 1e-6
    (True, True)
    """
    if tolerance is not None and not (tolerance > 0 and np.isfinite(tolerance)):
        raise ArgumentError(f"tolerance: expected a positive number, found {tolerance!r}")
    if exact and tolerance is not None:
        raise ArgumentError("exact=True and a tolerance contradict each other")
    one, other = native(a, "a"), native(b, "b")
    given_points = None if data is None else as_points(data, "data", one.widths[0])
    if executor is not None and resume is not None:
        raise ArgumentError("executor: resume is for searches without one")
    decision: _native.Decision | _native.Measured
    with terms(**options) as given:
        if executor is not None:
            plan = _native.plan_equiv(one, other, as_box(box), exact, tolerance, given_points, _executor.TASKS, given)
            decision = _executor.answer(plan, executor, given)
        else:
            decision = _native.equiv(one, other, as_box(box), exact, tolerance, given_points, resume, given)
    found = json.loads(decision.json)
    at = found["witness"]
    return make(
        Equivalence,
        found,
        of=(one, other),
        witness=None if at is None else _witness(at),
        certificate=_certificate(decision.certificate),
        text=decision.text,
    )


def _witness(at: dict[str, Any]) -> Witness:
    # Numbers beyond the doubles come as texts and become infinite here; `x_exact` has the point as it is.
    x, a, b = (np.array([float(v) for v in at[key]]) for key in ("x", "a", "b"))
    return Witness(x, a, b, at["x_exact"])


def _certificate(text: str | None) -> Certificate | None:
    return None if text is None else Certificate(text)


def check(
    certificate: str | bytes | os.PathLike[str],
    a: NetworkLike,
    b: NetworkLike | None = None,
    box: BoxLike = None,
    *,
    space: bool = False,
    claim: str | None = None,
    **options: Unpack[Options],
) -> Checked:
    """Checks a certificate (a `Certificate`, its JSON text or bytes, or a file) about two networks, or about one, in exact arithmetic.

    A certificate proves its own claim on its own domain. With `box` or `space`, and `claim` ("equivalent", "different", "within=EPS",
    "same_class=M", "other_class=M" or "locally_identifiable"), the question is whether it proves that. A file is read as a stream. Raises
    `UndecidedError` if it is not checked within `time_limit`.

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
        source: str | bytes = os.fspath(certificate)
    else:
        source = certificate.encode() if isinstance(certificate, str) else bytes(certificate)
    first = native(a, "a")
    second = first if b is None else native(b, "b")
    with terms(**options) as given:
        answer = _native.check(source, first, second, as_box(box), space, claim, given)
    found = json.loads(answer.json)
    if found["valid"] is None:
        raise UndecidedError("the certificate was not checked: a limit came first")
    return make(Checked, found, of=(first, second), text=answer.text)


def align(
    a: NetworkLike,
    b: NetworkLike,
    *,
    data: ArrayLike | None = None,
    scaling: str = "auto",
    metric: str = "weights",
    starts: int = 1,
    **options: Unpack[Options],
) -> Aligned:
    """The second network with its neurons permuted and scaled to be as close to the first as possible.

    If it is the first one permuted and scaled, by any factors and up to the rounding of its parameters, `relative` is the largest
    relative difference of the parameters: 0 if they are exactly related. `scaling` is "auto" (real factors in that case, and the
    result is rounded; otherwise powers of two, which keep the function exactly), "powers-of-two", "real" or "none".

    `metric` is "weights", or "activations": neurons that do the same on `data`, whatever their weights. Several `starts` keep the
    closest of their results. With `data` the loss between the two networks is measured, before and after. The channels of
    convolutions (`fs.from_torch`, ONNX files) are moved as one.

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
    if metric not in ("weights", "activations"):
        raise ArgumentError(f'expected metric "weights" or "activations", found {metric!r}')
    if metric == "activations" and data is None:
        raise ArgumentError('metric "activations": expected data, on which neurons are compared')
    if starts < 1:
        raise ArgumentError(f"starts: expected at least 1, found {starts!r}")
    first, second = native(a, "a"), native(b, "b")
    given_points = None if data is None else as_points(data, "data", first.widths[0])
    with terms(**options) as given:
        found = _native.align(first, second, given_points, scaling, (metric == "activations", starts), given)
    proof = _certificate(found.certificate)
    network = Network._of(found.network)
    return make(Aligned, found.json, of=(first, second), network=network, certificate=proof, text=found.text)


def match_folds(
    a: NetworkLike, b: NetworkLike, *, box: BoxLike = None, max_regions: int = 20_000, **options: Unpack[Options]
) -> FoldMatch:
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
    first, second = native(a, "a"), native(b, "b")
    with terms(**options) as given:
        data = _native.match_folds(first, second, as_box(box), max_regions, given)
    if data is None:
        raise UndecidedError(f"a limit was reached: more than {max_regions} regions, or out of time")
    return make(FoldMatch, data, of=(first, second))


def volume(
    widths: Iterable[int], *, samples: int | None = None, executor: Any = None, **options: Unpack[Options]
) -> Volume:
    """The fraction of parameters of three layers with a bottleneck that their function identifies, exactly.

    With an `executor` its workers draw the samples of the estimate beside it, with the same result.

    >>> import fiberscope as fs
    >>> fs.volume([3, 3, 2, 1], samples=1000).exact
    '193/256'
    """
    with terms(**options) as given:
        if executor is not None:
            plan = _native.plan_volume(list(widths), samples, _executor.TASKS, given)
            return make(Volume, _executor.answer(plan, executor, given).json)
        return make(Volume, _native.volume(list(widths), samples, given))


def functional_dimensions(
    networks: Iterable[NetworkLike],
    data: ArrayLike | Iterable[ArrayLike],
    *,
    generic: bool = False,
    primes: int | None = None,
    device: str | Sequence[str] = "cpu",
    executor: Any = None,
    **options: Unpack[Options],
) -> list[list[Dimension]]:
    """The functional dimension of every network (checkpoints of a training, say) on every batch: a row for each network.

    `data` is one batch, one point per row, or a list of batches. With an `executor` its workers compute them. Eliminations run on
    `device`, as those of `Network.functional_dimension`; of several, such as `["cuda:0", "cuda:1"]`, which then work at the same time, a
    task takes the next one. Names are those of the workers' machines: a Ray worker that was given one GPU sees it as "cuda".

    >>> import fiberscope as fs
    >>> rows = fs.functional_dimensions(["zoo:abs", "zoo:abs"], [[[-1.0], [2.0], [3.0], [4.0]], [[1.0], [2.0]]])
    >>> [[found.rank for found in row] for row in rows]
    [[3, 2], [3, 2]]
    """
    nets = [native(network, f"networks[{i}]") for i, network in enumerate(networks)]
    if not nets:
        raise ArgumentError("networks: expected at least one")
    batches = _batches(data, nets[0].widths[0])
    devices = [device] if isinstance(device, str) else list(device)
    if not devices:
        raise ArgumentError(
            'device: expected "cpu", "cuda", "cuda:1", "auto", or a list of such names, found an empty one'
        )
    with terms(**options) as given:
        plan = _native.plan_dimensions(nets, batches, generic, primes, len(nets) * len(batches), given)
        with ExitStack() as stack:
            if executor is None:
                executor = stack.enter_context(ThreadPoolExecutor(len(devices)))
            measured = _executor.answer(plan, executor, given, None, devices)
    found = json.loads(measured.json)
    rows = found["rows"] if "rows" in found else [found]
    made = [make(Dimension, row, of=(nets[i // len(batches)],), text="", _picture=None) for i, row in enumerate(rows)]
    return [made[i : i + len(batches)] for i in range(0, len(made), len(batches))]


def _batches(data: Any, inputs: int) -> list[np.ndarray]:
    """One batch, or a list of them."""
    several = isinstance(data, (list, tuple)) and data and np.ndim(data[0]) == 2
    several = several or (isinstance(data, np.ndarray) and data.ndim == 3)
    return [as_points(each, f"data[{i}]", inputs) for i, each in enumerate(data if several else [data])]


def construct(kind: str, widths: Iterable[int], *, box: BoxLike = None, **options: Unpack[Options]) -> Construction:
    """Builds a network with a proved property: kind "identifiable" (on a box, [-1, 1]^n if none is given), "hiding" or "nonlocal".

    >>> import fiberscope as fs
    >>> built = fs.construct("hiding", [3, 3, 2, 1])
    >>> bool(fs.check(built.certificate, built.network, built.twin))
    True
    """
    if kind not in ("identifiable", "hiding", "nonlocal"):
        raise ArgumentError(f'construct {kind!r}: expected "identifiable", "hiding" or "nonlocal"')
    if box is not None and kind != "identifiable":
        raise ArgumentError(f"construct {kind!r}: a box is for identifiable networks")
    sizes = list(widths)
    with terms(**options) as given:
        found = _native.construct(kind, sizes, as_box(box), given)
    return make(
        Construction,
        {"kind": kind, "widths": sizes, "claims": found.claims},
        network=Network._of(found.network),
        twin=None if found.twin is None else Network._of(found.twin),
        certificate=Certificate(found.certificate),
    )


@dataclass(frozen=True, slots=True)
class _Settings:
    """What the native part reads."""

    widths: list[int]
    epochs: int
    seeds: int
    loss: str
    optimizer: str
    rate: float
    weight_decay: float
    momentum: float
    batch: int
    init: str
    precision: str
    every: int
    dimension: bool


def train(
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    task: str | None = None,
    widths: Iterable[int] | None = None,
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
    executor: Any = None,
    **options: Unpack[Options],
) -> list[Trained]:
    """Trains dense ReLU networks, one per seed, and records their functional dimension on the way.

    The samples are X and y, or a task of the paper: f1, f2, f3, g1, g2, g3, heating, cooling. With an `executor` its workers train, a seed
    each, and the networks are the same bit by bit.

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
        inputs, outputs = samples.inputs, samples.targets
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
        if executor is None:
            found = _native.train(inputs, outputs, settings, given)
        else:
            plan = _native.plan_train(inputs, outputs, settings, _executor.TASKS, given)
            found = _executor.run(plan, executor, given, _native.TaskResults.trained)
    return [make(Trained, run, network=Network._of(net)) for net, run in zip(found.networks, json.loads(found.json))]
