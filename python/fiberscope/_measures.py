"""Questions about one network whose answers are numbers and words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _executor, _native
from ._arrays import box as as_box
from ._arrays import points as as_points
from ._arrays import targets
from ._result import make
from ._results.measures import Conservation, Dimension, Folds, Info, Membership, Regions
from ._results.proof import Certificate
from ._terms import Options, terms
from .errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from ._arrays import BoxLike


def info(net: _native.Net, box: BoxLike, **options: Unpack[Options]) -> Info:
    with terms(**options) as given:
        found = _native.info(net, as_box(box), given)
    proof = None if found.certificate is None else Certificate(found.certificate)
    return make(Info, found.json, of=(net,), text=found.text, certificate=proof)


def regions(
    net: _native.Net,
    box: BoxLike,
    max_regions: int | None,
    count_only: bool,
    method: str | None,
    executor: Any,
    **options: Unpack[Options],
) -> Regions:
    if executor is not None:
        if method == "walk" or max_regions is not None:
            raise ArgumentError("executor: tasks count all regions by their edges; leave out method and max_regions")
        with terms(**options) as given:
            plan = _native.plan_regions(net, as_box(box), count_only, _executor.TASKS, given)
            return make(Regions, _executor.answer(plan, executor, given).json, of=(net,), _picture=None)
    with terms(**options) as given:
        found = _native.regions(net, as_box(box), max_regions, count_only, method, given)
    return make(Regions, found.json, of=(net,), _picture=found.picture)


def folds(net: _native.Net, box: BoxLike, max_regions: int, **options: Unpack[Options]) -> Folds:
    with terms(**options) as given:
        found = _native.folds(net, as_box(box), max_regions, given)
    return make(Folds, found.json, of=(net,), _picture=found.picture)


def dimension_on_batch(
    net: _native.Net,
    X: ArrayLike,
    *,
    spectrum: bool,
    float32: bool,
    generic: bool,
    primes: int | None,
    memory: int,
    device: str,
    **options: Unpack[Options],
) -> Dimension:
    batch = as_points(X, "X", net.widths[0])
    with terms(**options) as given:
        on = _native.Device(device)
        found = _native.dimension_on_batch(net, batch, spectrum, float32, generic, primes, memory, on, given)
    return make(Dimension, found.json, of=(net,), text=found.text, _picture=found.picture)


def dimension_on_regions(
    net: _native.Net,
    box: BoxLike,
    *,
    samples: int,
    max_regions: int,
    primes: int | None,
    memory: int,
    device: str,
    **options: Unpack[Options],
) -> Dimension:
    with terms(**options) as given:
        on = _native.Device(device)
        found = _native.dimension_on_regions(net, as_box(box), samples, max_regions, primes, memory, on, given)
    return make(Dimension, found.json, of=(net,), text=found.text, _picture=found.picture)


def kernel(net: _native.Net, X: ArrayLike, trace: bool, memory: int, **options: Unpack[Options]) -> np.ndarray:
    batch = as_points(X, "X", net.widths[0])
    with terms(**options) as given:
        return _native.kernel(net, batch, trace, memory, given)


def conserve(
    net: _native.Net,
    X: ArrayLike,
    y: ArrayLike,
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
        found = _native.conserve(net, data, loss == "cross-entropy", float(time), steps, halvings, given)
    return make(Conservation, found, of=(net,))


def contains(net: _native.Net, other: _native.Net, orthant: bool, **options: Unpack[Options]) -> Membership:
    with terms(**options) as given:
        return make(Membership, _native.fiber_contains(net, other, orthant, given), of=(net, other))
