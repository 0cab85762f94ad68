"""Linear networks: strata, moves, and networks of a stratum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._result import Result
from ..network import Network, Networks


@dataclass(frozen=True, slots=True, repr=False, eq=False)
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


@dataclass(frozen=True, slots=True, repr=False, eq=False)
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


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Moved(Result):
    """A move of a linear network to another stratum; without a move, those that are possible."""

    network: Network | None
    omega: list[list[int]] | None
    up: list[dict[str, Any]] | None
    down: list[dict[str, Any]] | None
    to: list[list[int]] | None
    max_difference: float | None
    distance: float | None


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LinearPoints(Networks):
    """Linear networks: a path, a walk or a sample. Iterates over the networks."""

    connected: bool | None
    path: str | None
    reason: str | None
    number: int | None
    """A sample: the number of the stratum."""
    distance: float | None
    max_difference: float | None

    def __bool__(self) -> bool:
        return self.connected is not False
