"""Linear networks: strata of the fiber, moves, paths, samples and walks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _native
from ._arrays import box as as_box
from ._parameters import native
from ._result import make
from ._results.linear import LinearPoints, Moved, Strata, Stratum
from ._terms import Options, terms
from .errors import ArgumentError
from .network import Network

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._arrays import BoxLike
    from ._parameters import NetworkLike

__all__ = ["compress", "inspect", "move", "path", "sample", "strata", "walk"]


def _points(found: _native.Networks, *of: _native.Net | None) -> LinearPoints:
    return make(LinearPoints, found.json, of=of, networks=[Network._of(net) for net in found.networks])


def _steps(steps: int) -> int:
    if not 1 <= steps <= 100_000:
        raise ArgumentError(f"steps: expected 1 to 100000, found {steps}")
    return steps


def strata(
    widths: Iterable[int],
    rank: int = 0,
    *,
    max_strata: int = 1_000_000,
    count_only: bool = False,
    **options: Unpack[Options],
) -> Strata:
    """The strata of a fiber by rank, with their dimensions and the moves between them.

    >>> import fiberscope as fs
    >>> found = fs.linear.strata([4, 6, 5], rank=1)
    >>> len(found), found.fiber_dim
    (17, 35)
    >>> fs.linear.strata([100] * 5, count_only=True).count[:6]
    '381621'
    """
    with terms(**options) as given:
        return make(Strata, _native.linear_strata(list(widths), rank, max_strata, count_only, given))


def inspect(
    net: NetworkLike,
    *,
    layers: tuple[int, int] | None = None,
    block: int | None = None,
    box: BoxLike = None,
    tolerance: float = 1e-10,
    scale: float | None = None,
    exact: bool = False,
    bases: bool = False,
    spaces: bool = False,
    **options: Unpack[Options],
) -> Stratum:
    """In which stratum of its fiber a linear network lies, or a run of `layers`, or the always-active `block` of a ReLU layer.

    >>> import fiberscope as fs
    >>> found = fs.linear.inspect("zoo:linear-network", exact=True)
    >>> found.data["exact_agrees"]
    True
    """
    subject = native(net)
    with terms(**options) as given:
        data = _native.linear_inspect(
            subject, layers, block, as_box(box), (tolerance, scale), exact, bases, spaces, given
        )
    return make(Stratum, data, of=(subject,))


def compress(
    net: NetworkLike, block: int, box: BoxLike, *, tolerance: float = 1e-10, **options: Unpack[Options]
) -> Network:
    """The network with the always-active neurons of a ReLU layer replaced by as few as possible; the same function on the box."""
    with terms(**options) as given:
        return Network._of(_native.linear_compress(native(net), block, as_box(box), (tolerance, None), given))


def path(
    a: NetworkLike,
    b: NetworkLike | None = None,
    *,
    steps: int = 10,
    through_minimum: bool = False,
    tolerance: float = 1e-10,
    scale: float | None = None,
    **options: Unpack[Options],
) -> LinearPoints:
    """A path from one network to another in their stratum, or to the canonical point; false with a reason if there is none.

    >>> import fiberscope as fs
    >>> found = fs.linear.path("zoo:linear-network", steps=4)
    >>> len(found), found.max_difference < 1e-9
    (5, True)
    """
    first, second = native(a, "a"), None if b is None else native(b, "b")
    with terms(**options) as given:
        found = _native.linear_path(first, second, _steps(steps), through_minimum, (tolerance, scale), given)
    return _points(found, first, second)


def move(
    net: NetworkLike,
    *,
    up: Any = None,
    down: Any = None,
    cut: Any = None,
    to_minimum: bool = False,
    epsilon: float = 1.0,
    tolerance: float = 1e-10,
    scale: float | None = None,
    **options: Unpack[Options],
) -> Moved:
    """The moves of a network to other strata; with `up=((h, k), (i, l))`, `down=((h, l), (i, k))`, `cut=((h, l), k)` or `to_minimum` the network after one.

    >>> import fiberscope as fs
    >>> fs.linear.move("zoo:linear-network", to_minimum=True).max_difference < 1e-9
    True
    """
    asked = {"up": up, "down": down, "cut": cut, "minimum": () if to_minimum else None}
    chosen = [(kind, value) for kind, value in asked.items() if value is not None]
    if len(chosen) > 1:
        raise ArgumentError("expected one of up, down, cut and to_minimum")
    kind, value = chosen[0] if chosen else (None, ())
    numbers = [int(n) for each in value for n in (each if isinstance(each, (tuple, list)) else [each])]
    subject = native(net)
    with terms(**options) as given:
        found = _native.linear_move(subject, kind, numbers, float(epsilon), (tolerance, scale), given)
    return make(Moved, found.json, of=(subject,), network=None if found.network is None else Network._of(found.network))


def sample(
    widths: Iterable[int],
    rank: int = 0,
    *,
    count: int = 1,
    stratum: int | None = None,
    product: NetworkLike | None = None,
    integer: bool = False,
    max_strata: int = 1_000_000,
    tolerance: float = 1e-10,
    scale: float | None = None,
    **options: Unpack[Options],
) -> LinearPoints:
    """Random networks of a stratum (one of the largest dimension without its number), also over the product of a network.

    >>> import fiberscope as fs
    >>> [net.widths for net in fs.linear.sample([2, 3, 2], 1, count=2, integer=True)]
    [[2, 3, 2], [2, 3, 2]]
    """
    if integer and product is not None:
        raise ArgumentError("expected a product or integer=True, found both")
    over = None if product is None else native(product, "product")
    with terms(**options) as given:
        found = _native.linear_sample(
            list(widths), rank, max_strata, stratum, over, integer, count, (tolerance, scale), given
        )
    return _points(found, over)


def walk(
    net: NetworkLike,
    *,
    velocity: NetworkLike | None = None,
    project: bool = False,
    length: float = 1.0,
    steps: int = 10,
    tolerance: float = 1e-10,
    scale: float | None = None,
    **options: Unpack[Options],
) -> LinearPoints:
    """A walk along the stratum with a velocity: a network whose weights are the derivatives, or a random tangent.

    >>> import fiberscope as fs
    >>> fs.linear.walk("zoo:linear-network", length=2, steps=4).max_difference < 1e-9
    True
    """
    subject, along = native(net), None if velocity is None else native(velocity, "velocity")
    with terms(**options) as given:
        found = _native.linear_walk(subject, along, project, float(length), _steps(steps), (tolerance, scale), given)
    return _points(found, subject, along)
