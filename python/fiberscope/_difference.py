"""How far apart two networks are on a box, with proof; and the ranges of one."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from . import _executor, _native
from ._arrays import box as as_box
from ._arrays import points as as_points
from ._parameters import native
from ._result import make
from ._results.networks import Bounds
from ._results.proof import Certificate, Difference, SameClass, Witness
from ._terms import Options, terms
from .errors import ArgumentError, DomainError
from .network import Network

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from ._arrays import BoxLike
    from ._parameters import NetworkLike


@overload
def diff(
    a: NetworkLike,
    b: NetworkLike,
    *,
    box: BoxLike = None,
    epsilon: float | None = None,
    gap: float = 0.1,
    relative: bool = False,
    top1: Literal[False] = False,
    as_given: bool = False,
    data: ArrayLike | None = None,
    resume: str | os.PathLike[str] | None = None,
    executor: Any = None,
    **options: Unpack[Options],
) -> Difference: ...


@overload
def diff(
    a: NetworkLike,
    b: NetworkLike,
    *,
    box: BoxLike = None,
    top1: Literal[True],
    margin: float | None = None,
    confidence: float | None = None,
    as_given: bool = False,
    data: ArrayLike | None = None,
    **options: Unpack[Options],
) -> SameClass: ...


def diff(
    a: NetworkLike,
    b: NetworkLike,
    *,
    box: BoxLike = None,
    epsilon: float | None = None,
    gap: float | None = None,
    relative: bool = False,
    top1: bool = False,
    margin: float | None = None,
    confidence: float | None = None,
    as_given: bool = False,
    data: ArrayLike | None = None,
    resume: str | os.PathLike[str] | None = None,
    executor: Any = None,
    **options: Unpack[Options],
) -> Difference | SameClass:
    """How far apart two networks (or files, or torch modules) can be on a box: both bounds, the worst input, and a certificate.

    The networks may be permuted, rescaled, pruned or of different depths: moves that keep the functions bring them to one shape first
    (`as_given` leaves the neurons where they are). Without `epsilon` the search ends when `upper <= (1 + gap) * lower`; with it, when it
    is decided whether the outputs differ by at most `epsilon`. With `relative`, `epsilon` is a part of the size of the outputs. A
    `time_limit` gives the best bounds until then; the search is written to the file `resume`, and the next call goes on with it.
    With an `executor` its workers search; their tree is another one than that of a search without, and does not depend on them.

    >>> import fiberscope as fs
    >>> found = fs.diff("zoo:deep", "zoo:deep-rounded", box=(-1, 1), epsilon=1e-9)
    >>> found.decision, found.lower <= found.upper <= 1e-9, bool(found)
    ('within', True, True)
    >>> bool(fs.check(found.certificate, "zoo:deep", "zoo:deep-rounded", (-1, 1), claim="within=1e-9"))
    True

    With `top1` the question is the decision instead: wherever the first network is sure of a class (its largest output), does the
    second one decide for it? It is sure where that output leads all others by at least `margin` (by anything, if none is given), or has
    a softmax probability of at least `confidence`. The answer is a `SameClass`.

    >>> a, b = (fs.Network([[[1.0], [slope]]], [[0.0, 0.25]]) for slope in (0.0, 0.125))
    >>> fs.diff(a, b, box=(-1, 1), top1=True, margin=0.125).holds
    True
    >>> found = fs.diff(a, b, box=(-1, 1), top1=True)
    >>> found.holds, found.classes
    (False, (0, 1))
    """
    if box is None:
        raise DomainError("box: a bounded box of inputs is needed; far away two networks are as far apart as they like")
    if epsilon is not None and not (epsilon >= 0 and np.isfinite(epsilon)):
        raise ArgumentError(f"epsilon: expected a number that is not negative, found {epsilon!r}")
    if executor is not None and (top1 or relative or resume is not None):
        raise ArgumentError("executor: top1, relative and resume are for searches without one")
    if top1:
        for name, used in (("epsilon", epsilon), ("gap", gap), ("relative", relative or None), ("resume", resume)):
            if used is not None:
                raise ArgumentError(f"{name}: with top1 the question is the class, not the size of the difference")
        return _same_class(a, b, box, margin, confidence, as_given, data, options)
    for name, used in (("margin", margin), ("confidence", confidence)):
        if used is not None:
            raise ArgumentError(f"{name}: needs top1=True")
    gap = 0.1 if gap is None else gap
    if not (gap >= 0 and np.isfinite(gap)):
        raise ArgumentError(f"gap: expected a number that is not negative, found {gap!r}")
    one, other = native(a, "a"), native(b, "b")
    points = None if data is None else as_points(data, "data", one.widths[0])
    file = None if resume is None else os.fspath(resume)
    with terms(**options) as given:
        if executor is not None:
            plan = _native.plan_diff(
                one, other, as_box(box), epsilon, float(gap), as_given, points, _executor.TASKS, given
            )
            measured = _executor.answer(plan, executor, given)
        else:
            measured = _native.diff(
                one, other, as_box(box), epsilon, float(gap), relative, as_given, points, file, given
            )
    found = json.loads(measured.json)
    at = found["witness"]
    return make(
        Difference,
        found,
        of=(one, other),
        witness=_witness(at),
        output=None if at is None else at["output"] - 1,
        rows=found.get("data"),
        certificate=None if measured.certificate is None else Certificate(measured.certificate),
        gap=float(gap),
        text=measured.text,
    )


def _witness(at: dict[str, Any] | None) -> Witness | None:
    if at is None:
        return None
    x, values_a, values_b = (np.array([float(v) for v in at[key]]) for key in ("x", "a", "b"))
    return Witness(x, values_a, values_b, at["x_exact"])


def _same_class(
    a: NetworkLike,
    b: NetworkLike,
    box: BoxLike,
    margin: float | None,
    confidence: float | None,
    as_given: bool,
    data: ArrayLike | None,
    options: Options,
) -> SameClass:
    if margin is not None and confidence is not None:
        raise ArgumentError("expected a margin or a confidence, found both")
    if margin is not None and not (margin >= 0 and np.isfinite(margin)):
        raise ArgumentError(f"margin: expected a number that is not negative, found {margin!r}")
    if confidence is not None and not 0 < confidence < 1:
        raise ArgumentError(f"confidence: expected a number between 0 and 1, found {confidence!r}")
    one, other = native(a, "a"), native(b, "b")
    points = None if data is None else as_points(data, "data", one.widths[0])
    with terms(**options) as given:
        measured = _native.same_class(one, other, as_box(box), margin, confidence, as_given, points, given)
    found = json.loads(measured.json)
    answer = found["top1"]
    at = answer["witness"]
    return make(
        SameClass,
        found,
        of=(one, other),
        holds=answer["holds"],
        witness=_witness(at),
        classes=None if at is None else (at["class"] - 1, at["rival"] - 1),
        margin=float(answer["margin"]),
        confidence=answer["confidence"],
        states=answer["classes"],
        seen=[each - 1 for each in answer["seen"]],
        reason=answer["reason"],
        rows=found.get("data"),
        certificate=None if measured.certificate is None else Certificate(measured.certificate),
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
