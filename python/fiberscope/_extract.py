"""Extraction: the parameters of a network from queries alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._arrays import doubles
from ._result import make
from ._terms import Options, terms
from .errors import ArgumentError, FiberscopeError, OracleError
from .results import Extraction

if TYPE_CHECKING:
    from typing import Unpack


def extract(
    function: Callable[[np.ndarray], Any],
    widths: Sequence[int] | None = None,
    *,
    inputs: int | None = None,
    outputs: int | None = None,
    domain: tuple[float, float] = (-3.0, 3.0),
    max_queries: int | None = None,
    noise: float | None = None,
    **options: Unpack[Options],
) -> Extraction:
    """Recovers a ReLU network from a function that takes a batch (one query per row) and returns one row of outputs each.

    `widths` are those of all layers, inputs first; without them, `inputs` and `outputs` are needed and the hidden
    widths are found. `domain` is the interval of every input on which the function is wanted. Ask only what you may ask.

    >>> import fiberscope as fs
    >>> secret = fs.load("zoo:identifiable")
    >>> found = fs.extract(secret, secret.widths)
    >>> found.verdict, found.network.widths == secret.widths
    ('verified', True)
    """
    if not callable(function):
        raise ArgumentError(f"expected a function of a batch, found {type(function).__name__}")
    hidden = None
    if widths is not None:
        sizes = [int(width) for width in widths]
        if len(sizes) < 2 or min(sizes) < 1:
            raise ArgumentError(f"widths: expected those of all layers, inputs first, found {sizes}")
        inputs, hidden, outputs = sizes[0], sizes[1:-1] or None, sizes[-1]
    if inputs is None or outputs is None or inputs < 1 or outputs < 1:
        raise ArgumentError("expected the widths, or the numbers of inputs and outputs")
    if max_queries is not None and max_queries < 1:
        raise ArgumentError(f"max_queries: expected a positive number, found {max_queries}")

    def ask(points: np.ndarray) -> np.ndarray:
        return _answers(function, points, outputs)

    low, high = (float(end) for end in domain)
    with terms(**options) as given:
        net, data = _native.extract(ask, inputs, outputs, hidden, (low, high), max_queries, noise, given)
    from .network import Network

    return make(Extraction, data, network=None if net is None else Network._of(net))


def _answers(function: Callable[[np.ndarray], Any], points: np.ndarray, outputs: int) -> np.ndarray:
    """The answers to a batch, or an `OracleError` that says what the function did instead."""
    try:
        answers = function(points)
    except Exception as error:
        raise OracleError(
            f"the function raised {type(error).__name__} on a batch of shape {points.shape}: {error}"
        ) from error
    try:
        found = doubles(answers, "the function's answer")
    except FiberscopeError as error:
        raise OracleError(str(error)) from error
    if found.shape == (len(points),) and outputs == 1:
        found = found.reshape(-1, 1)
    if found.shape != (len(points), outputs):
        raise OracleError(
            f"the function answered a batch of shape {points.shape} with shape {found.shape}; "
            f"expected {(len(points), outputs)}"
        )
    return found
