"""How files are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .errors import ArgumentError


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader is told beside the file."""

    fold: bool = True
    """Whether the normalisation header of an NNet file is part of the network."""
    activation: str | None = None
    """What hidden layers do in files that do not say it."""
    output: str | None = None
    """The value of a graph that is asked for."""
    shapes: list[tuple[str, list[int]]] = field(default_factory=list)
    """Shapes of inputs, batch included."""


def reading(
    nnet_normalization: str, activation: str | None, output: str | None, shapes: Mapping[str, Sequence[int]] | None
) -> Reading:
    """The choices of a caller, checked."""
    if nnet_normalization not in ("fold", "ignore"):
        raise ArgumentError(f'nnet_normalization {nnet_normalization!r}: expected "fold" or "ignore"')
    if activation not in (None, "relu", "identity"):
        raise ArgumentError(
            f'activation {activation!r}: expected "relu" or "identity"; others are not piecewise linear, or not read'
        )
    found = []
    for name, shape in (shapes or {}).items():
        sizes = [int(each) for each in shape]
        if not sizes or min(sizes) < 1:
            raise ArgumentError(f"shape of {name!r}: expected positive numbers, found {tuple(shape)}")
        found.append((str(name), sizes))
    return Reading(nnet_normalization == "fold", activation, output, found)
