"""How far apart two networks are on a box, with proof; and the ranges of one."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import numpy as np

from . import _native
from ._arrays import box as as_box
from ._arrays import points as as_points
from ._parameters import native
from ._result import make
from ._results.networks import Bounds
from ._results.proof import Certificate, Difference, Witness
from ._terms import Options, terms
from .errors import ArgumentError, DomainError
from .network import Network

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from ._arrays import BoxLike
    from ._parameters import NetworkLike


def diff(
    a: NetworkLike,
    b: NetworkLike,
    *,
    box: BoxLike = None,
    epsilon: float | None = None,
    gap: float = 0.1,
    relative: bool = False,
    as_given: bool = False,
    data: ArrayLike | None = None,
    resume: str | os.PathLike[str] | None = None,
    **options: Unpack[Options],
) -> Difference:
    """How far apart two networks (or files, or torch modules) can be on a box: both bounds, the worst input, and a certificate.

    The networks may be permuted, rescaled, pruned or of different depths: moves that keep the functions bring them to one shape first
    (`as_given` leaves the neurons where they are). Without `epsilon` the search ends when `upper <= (1 + gap) * lower`; with it, when it
    is decided whether the outputs differ by at most `epsilon`. With `relative`, `epsilon` is a part of the size of the outputs. A
    `time_limit` gives the best bounds until then; the search is written to the file `resume`, and the next call goes on with it.

    >>> import fiberscope as fs
    >>> found = fs.diff("zoo:deep", "zoo:deep-rounded", box=(-1, 1), epsilon=1e-9)
    >>> found.decision, found.lower <= found.upper <= 1e-9, bool(found)
    ('within', True, True)
    >>> bool(fs.check(found.certificate, "zoo:deep", "zoo:deep-rounded", (-1, 1), claim="within=1e-9"))
    True
    """
    if box is None:
        raise DomainError("box: a bounded box of inputs is needed; far away two networks are as far apart as they like")
    if epsilon is not None and not (epsilon >= 0 and np.isfinite(epsilon)):
        raise ArgumentError(f"epsilon: expected a number that is not negative, found {epsilon!r}")
    if not (gap >= 0 and np.isfinite(gap)):
        raise ArgumentError(f"gap: expected a number that is not negative, found {gap!r}")
    one, other = native(a, "a"), native(b, "b")
    points = None if data is None else as_points(data, "data", one.widths[0])
    file = None if resume is None else os.fspath(resume)
    with terms(**options) as given:
        measured = _native.diff(one, other, as_box(box), epsilon, float(gap), relative, as_given, points, file, given)
    found = json.loads(measured.json)
    at, witness = found["witness"], None
    if at is not None:
        x, values_a, values_b = (np.array([float(v) for v in at[key]]) for key in ("x", "a", "b"))
        witness = Witness(x, values_a, values_b, at["x_exact"])
    return make(
        Difference,
        found,
        of=(one, other),
        witness=witness,
        output=None if at is None else at["output"] - 1,
        rows=found.get("data"),
        certificate=None if measured.certificate is None else Certificate(measured.certificate),
        gap=float(gap),
        text=measured.text,
    )


def bounds(net: NetworkLike, *, box: BoxLike, gap: float = 0.1, **options: Unpack[Options]) -> Bounds:
    """The range of every output on a box, with proof. The search ends when every end is known up to `gap` times the width of the values
    found, or at a `time_limit`.

    >>> import fiberscope as fs
    >>> found = fs.bounds("zoo:abs", box=(-1, 1))
    >>> found.outputs[0]["lower"] <= 0 and found.outputs[0]["upper"] >= 1
    True
    """
    if not (gap >= 0 and np.isfinite(gap)):
        raise ArgumentError(f"gap: expected a number that is not negative, found {gap!r}")
    subject = native(net, "net")
    with terms(**options) as given:
        found = _native.bounds(subject, as_box(box), float(gap), given)
    return make(
        Bounds,
        found.json,
        of=(subject,),
        certificate=None if found.certificate is None else Certificate(found.certificate),
        constant=Network._of(found.constant),
        text=found.text,
    )
