"""Extraction: the parameters of a network from queries alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._arrays import doubles
from ._parameters import native
from ._result import make
from ._results.networks import Extraction
from ._results.pages import LeakReport
from ._terms import Options, terms
from .errors import ArgumentError, FiberscopeError, OracleError, ShapeError
from .network import Network

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._parameters import NetworkLike


def extract(
    function: Callable[[np.ndarray], Any],
    widths: Sequence[int] | None = None,
    *,
    inputs: int | None = None,
    outputs: int | None = None,
    domain: tuple[float, float] = (-3.0, 3.0),
    max_queries: int | None = None,
    noise: float | None = None,
    truth: NetworkLike | None = None,
    resume: str | os.PathLike[str] | None = None,
    labels: bool = False,
    **options: Unpack[Options],
) -> Extraction:
    """Recovers a ReLU network from a function that takes a batch (one query per row) and returns one row of outputs each.

    `widths` are those of all layers, inputs first; without them, `inputs` and `outputs` are needed and the hidden
    widths are found. `domain` is the interval of every input on which the function is wanted. Ask only what you may ask.

    With `truth`, the true network, the result says how close it came. Queries and answers are logged in the file `resume`; if it exists, the
    extraction goes on with it and asks nothing twice.

    With `labels`, the function returns the class of every row, a number from 0, and nothing else; the network has the same classes, its outputs up
    to a common factor and a function added to all of them. `outputs` is the number of classes, or 1 for a network that is positive in class 1.

    >>> import fiberscope as fs
    >>> secret = fs.load("zoo:duplicate-merged")
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
        return _answers(function, points, 1 if labels else outputs)

    known = None if truth is None else _truth(truth, inputs, outputs)
    low, high = _ends(domain)
    with terms(**options) as given:
        found = _native.extract(
            ask, inputs, outputs, hidden, (low, high), max_queries, noise, known, resume, labels, given
        )
    network = None if found.network is None else Network._of(found.network)
    asked = function._net if isinstance(function, Network) else None
    return make(Extraction, found.json, of=(asked, known), network=network)


def leak_report(
    network: NetworkLike,
    *,
    widths: Sequence[int] | None = None,
    domain: tuple[float, float] = (-3.0, 3.0),
    max_queries: int | None = None,
    noise: float | None = None,
    **options: Unpack[Options],
) -> LeakReport:
    """For the owner of a model: how many digits of its parameters answers of lower and lower precision leak.

    `widths` are the hidden ones if whoever asks knows them.

    >>> import fiberscope as fs
    >>> rows = fs.leak_report("zoo:duplicate-merged").leak
    >>> rows[0]["precision"], rows[0]["verdict"], rows[0]["digits"] > 6
    ('double', 'verified', True)
    """
    low, high = _ends(domain)
    hidden = None if widths is None else [int(width) for width in widths]
    net = native(network, "network")
    with terms(**options) as given:
        found = _native.leak_report(net, hidden, (low, high), max_queries, noise, given)
    return make(LeakReport, found.json, of=(net,), text=found.text)


def _ends(domain: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in domain)
    except (TypeError, ValueError):
        raise ArgumentError(f"domain: expected (lo, hi), found {domain!r}") from None
    return low, high


def _truth(truth: NetworkLike, inputs: int, outputs: int) -> _native.Net:
    net = native(truth, "truth")
    if (net.widths[0], net.widths[-1]) != (inputs, outputs):
        raise ShapeError(
            f"truth: expected {inputs} inputs and {outputs} outputs, as the function has, "
            f"found {net.widths[0]} and {net.widths[-1]}"
        )
    return net


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
