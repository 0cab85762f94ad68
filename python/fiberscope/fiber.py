"""Fibers: all parameters with the function of a network."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _native
from ._result import Result, aside, make
from ._terms import Options, terms
from .errors import ArgumentError, UndecidedError
from .results import Membership, Points

if TYPE_CHECKING:
    from typing import Unpack

    from .network import Network


@dataclass(frozen=True, repr=False, eq=False)
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
    latex: str | None = aside()
    """The description as a LaTeX document."""
    text: str = aside()
    """The description in words."""
    network: Network = aside()
    """The network."""
    orthant: bool = aside()
    """Whether the network is considered on the nonnegative orthant."""

    @property
    def covered(self) -> bool:
        """Whether the theory describes all generic parameters of the fiber."""
        return bool(self.to_dict()["covered"])

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
            nets, data = _native.fiber_sample(self.network._net, self.orthant, count, exact, orientation, linear, given)
        return _points(nets, data)

    def path(self, a: Any, b: Any, *, steps: int = 16, **options: Unpack[Options]) -> Points:
        """The points of a path from one parameter of the fiber to another, each compared with the network."""
        from .network import as_network

        if not 1 <= steps <= 100_000:
            raise ArgumentError(f"steps: expected 1 to 100000, found {steps}")
        ends = as_network(a, "a")._net, as_network(b, "b")._net
        with terms(**options) as given:
            nets, data = _native.fiber_path(self.network._net, *ends, self.orthant, steps, given)
        return _points(nets, data)

    def contains(self, other: Any, **options: Unpack[Options]) -> Membership:
        """Whether a network lies in the fiber, and in which piece; if not, which equation or inequality fails.

        >>> import fiberscope as fs
        >>> fiber = fs.load("zoo:hiding-two").fiber()
        >>> bool(fiber.contains("zoo:hiding-two-translated")), bool(fiber.contains("zoo:hiding-two-too-far"))
        (True, False)
        """
        from .network import as_network

        with terms(**options) as given:
            data = _native.fiber_contains(self.network._net, as_network(other)._net, self.orthant, given)
        return make(Membership, data)

    def __contains__(self, other: Any) -> bool:
        return bool(self.contains(other))


def describe(net: Network, *, orthant: bool, components: int, classes: int | None, **options: Unpack[Options]) -> Fiber:
    with terms(**options) as given:
        data, text = _native.fiber(net._net, orthant, components, classes, given)
    return make(Fiber, data, text=text, network=net, orthant=orthant)


def _points(nets: list[_native.Net] | None, data: str) -> Points:
    from .network import Network

    found = json.loads(data)
    if nets is None:
        reasons = "; ".join(found["undecided"])
        raise UndecidedError(f"the theory of generic fibers does not cover the network: {reasons}")
    return make(Points, found, networks=[Network._of(net) for net in nets])
