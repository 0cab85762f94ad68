"""Arrays in: real numbers of any layout become contiguous doubles, everything else an error that says what was found."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import DtypeError, ShapeError

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import ArrayLike

    BoxLike: TypeAlias = str | os.PathLike[str] | ArrayLike | None

PRECISIONS = {np.dtype(np.float16): "f16", np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}


def array(value: Any, what: str, ndim: int | None = None) -> np.ndarray:
    """The value as an array of real numbers, in the precision it has."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    try:
        found = np.asarray(value)
    except ValueError as error:
        raise ShapeError(f"{what}: expected an array, found rows of different lengths ({error})") from None
    if found.dtype.kind not in "fiub":
        kind = "objects or rows of different lengths" if found.dtype.kind == "O" else f"dtype {found.dtype}"
        raise DtypeError(f"{what}: expected real numbers, found {kind}")
    if found.dtype.itemsize > 8:
        raise DtypeError(f"{what}: expected at most double precision, found dtype {found.dtype}")
    if found.dtype.kind in "iu" and found.size and max(abs(int(found.max())), abs(int(found.min()))) > 2**53:
        raise DtypeError(f"{what}: whole numbers beyond 2^53 are no doubles")
    if ndim is not None and found.ndim != ndim:
        raise ShapeError(f"{what}: expected {ndim} dimensions, found shape {found.shape}")
    return found


def doubles(value: Any, what: str, ndim: int | None = None) -> np.ndarray:
    """The value as contiguous doubles; not copied if it is that already."""
    return np.ascontiguousarray(array(value, what, ndim), dtype=np.float64)


def points(value: Any, what: str, inputs: int) -> np.ndarray:
    """One point per row; a vector is taken as points with one input if there is one, else as one point."""
    found = doubles(value, what)
    if found.ndim == 1:
        found = found.reshape((-1, 1) if inputs == 1 else (1, -1))
    if found.ndim != 2 or found.shape[1] != inputs:
        raise ShapeError(f"{what}: expected points with {inputs} inputs, shape (points, {inputs}), found {found.shape}")
    return found


def targets(value: Any, what: str, count: int) -> np.ndarray:
    """One row of targets per point."""
    found = doubles(value, what)
    if found.ndim == 1:
        found = found.reshape(-1, 1)
    if found.ndim != 2 or found.shape[0] != count:
        raise ShapeError(f"{what}: expected {count} rows, one per point, found shape {found.shape}")
    return found


def box(value: BoxLike) -> str | tuple[float, float] | list[tuple[float, float]] | None:
    """A box: `None`, a file or "LO,HI", a pair for every input, or one pair per input."""
    if value is None or isinstance(value, str):
        return value
    if hasattr(value, "__fspath__"):
        return str(value.__fspath__())
    found = doubles(value, "box")
    if found.shape == (2,):
        return float(found[0]), float(found[1])
    if found.ndim != 2 or found.shape[1] != 2:
        raise ShapeError(f"box: expected (lo, hi), or one (lo, hi) per input, found shape {found.shape}")
    return [(float(lo), float(hi)) for lo, hi in found]
