"""What ATen operators that move entries are in ONNX: shapes, slices, joins and paddings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ._aten import Translation, Value, base, constant, rule, sizes

PLACES = "expected constant places, such as numbers or a buffer: places that depend on the input jump, and no ReLU network does"

# Shapes.


@rule(
    "view", "reshape", "_unsafe_view", "flatten", "unflatten", "squeeze", "unsqueeze", "ravel", "view_as", "reshape_as"
)  # fmt: skip
def _reshape(t: Translation, x: Value, *rest: Any) -> Value:
    import torch

    if any(isinstance(each, torch.dtype) for each in rest):
        raise t.refuse(
            "the bits of numbers read as another type jump: no ReLU network does; .to(dtype) converts numbers"
        )
    return t.emit("Reshape", [x, t.integers(t.shape())])


@rule("expand", "expand_as", "broadcast_to")
def _expand(t: Translation, x: Value, *_: Any) -> Value:
    return t.emit("Expand", [x, t.integers(t.shape())])


@rule("repeat", "tile")
def _repeat(t: Translation, x: Value, times: Sequence[int]) -> Value:
    rank = len(t.shape())
    own = t.shape(t.node.args[0])
    if len(own) < rank:
        x = t.emit("Reshape", [x, t.integers([1] * (rank - len(own)) + own)])
    return t.emit("Tile", [x, t.integers([1] * (rank - len(times)) + list(times))])


@rule("permute")
def _permute(t: Translation, x: Value, dims: Sequence[int]) -> Value:
    return t.emit("Transpose", [x], perm=[each % len(dims) for each in dims])


@rule("transpose", "t", "swapaxes", "numpy_T", "mT", "adjoint")
def _transpose(t: Translation, x: Value, first: int = -2, second: int = -1) -> Value:
    rank = len(t.shape())
    order = list(range(rank))
    if base(t.node) == "numpy_T":
        order.reverse()
    elif rank >= 2:
        order[first], order[second] = order[second], order[first]
    return t.emit("Transpose", [x], perm=order)


@rule("cat", "concat", "concatenate")
def _cat(t: Translation, values: Sequence[Any], dim: int = 0) -> Value:
    kind = t.dtype()
    return t.emit("Concat", [t.value(each, kind) for each in values], axis=int(dim))


@rule("stack")
def _stack(t: Translation, values: Sequence[Any], dim: int = 0) -> Value:
    at = dim % len(t.shape())
    parts = [t.emit("Unsqueeze", [t.value(each, t.dtype()), t.integers([at])]) for each in values]
    return t.emit("Concat", parts, axis=at)


def _cut(t: Translation, x: Value, dim: int, start: int, end: int, step: int = 1) -> Value:
    return t.emit("Slice", [x, *(t.integers([each]) for each in (start, end, dim, step))])


@rule("slice")
def _slice(t: Translation, x: Value, dim: int, start: Any, end: Any, step: int) -> Value:
    size = t.shape(t.node.args[0])[dim]
    return _cut(t, x, dim, 0 if start is None else start, size if end is None else min(end, size), step)


@rule("narrow")
def _narrow(t: Translation, x: Value, dim: int, start: int, length: int) -> Value:
    if start < 0:
        start += t.shape(t.node.args[0])[dim]
    return _cut(t, x, dim, start, start + length)


@rule("select")
def _select(t: Translation, x: Value, dim: int, index: int) -> Value:
    at = index % t.shape(t.node.args[0])[dim]
    return t.emit("Reshape", [_cut(t, x, dim, at, at + 1), t.integers(t.shape())])


@rule("split", "split_with_sizes", "chunk", "tensor_split", "unsafe_split", "unbind")
def _split(t: Translation, x: Value, *rest: Any) -> list[Value]:
    kind = base(t.node)
    dim = int((rest[0] if kind == "unbind" else rest[1]) if rest else 0)
    made, start = [], 0
    for part in t.node.meta["val"]:
        size = 1 if kind == "unbind" else int(part.shape[dim])
        piece = _cut(t, x, dim, start, start + size)
        if kind == "unbind":
            piece = t.emit("Reshape", [piece, t.integers([int(each) for each in part.shape])])
        made.append(piece)
        start += size
    return made


def _gather(t: Translation, x: Value, dim: int, index: Sequence[int]) -> Value:
    return t.emit("Gather", [x, t.integers(index)], axis=int(dim))


@rule("index_select")
def _index_select(t: Translation, x: Value, dim: int, index: Any) -> Value:
    return _gather(t, x, dim, constant(t, index, "index").tolist())


@rule("gather")
def _gather_elements(t: Translation, x: Value, dim: int, index: Any, *_: Any) -> Value:
    places = constant(t, index, "index").numpy().astype(np.int64)
    return t.emit("GatherElements", [x, t.graph.constant(t.fresh("places"), places)], axis=int(dim))


@rule("cumsum")
def _cumsum(t: Translation, x: Value, dim: int, *_: Any) -> Value:
    return t.emit("CumSum", [x, t.graph.constant(t.fresh("axis"), np.array(int(dim), dtype=np.int64))])


@rule("index")
def _index(t: Translation, x: Value, indices: Sequence[Any]) -> Value:
    given = [(dim, each) for dim, each in enumerate(indices) if each is not None]
    if not all(t.is_constant(each) for _, each in given):
        raise t.refuse(PLACES)
    if len(given) != 1 or given[0][1].dim() != 1:
        return _moved(t, x, indices)
    dim, places = given[0]
    if str(places.dtype) == "torch.bool":
        places = places.nonzero().flatten()
    size = t.shape(t.node.args[0])[dim]
    return _gather(t, x, dim, [each % size for each in places.tolist()])


@rule("im2col", "take", "diagonal", "rot90", "tril", "triu")
def _moved(t: Translation, x: Value, *rest: Any) -> Value:
    """An operator that moves entries and fills up with zeros: PyTorch itself says where each entry comes from."""
    import torch

    if any(isinstance(each, Value) for each in rest):
        raise t.refuse(PLACES)
    own = t.shape(t.node.args[0])
    count = int(np.prod(own))
    places = t.node.target(torch.arange(1, count + 1, dtype=torch.float64).view(own), *rest).flatten().to(torch.int64)
    x = t.emit("Reshape", [x, t.integers([count])])
    if bool((places == 0).any()):
        x = t.emit("Concat", [t.value(torch.zeros(1, dtype=getattr(torch, t.dtype()))), x], axis=0)
    else:
        places = places - 1
    return t.emit("Reshape", [_gather(t, x, 0, places.tolist()), t.integers(t.shape())])


@rule("flip")
def _flip(t: Translation, x: Value, dims: Sequence[int]) -> Value:
    for dim in dims:
        x = _gather(t, x, dim, list(range(t.shape()[dim]))[::-1])
    return x


@rule("roll")
def _roll(t: Translation, x: Value, shifts: Sequence[int], dims: Sequence[int]) -> Value:
    if not dims:
        raise t.refuse("expected the dimensions to be given")
    for shift, dim in zip(sizes(shifts, 1), sizes(dims, 1)):
        size = t.shape()[dim]
        x = _gather(t, x, dim, [(at - shift) % size for at in range(size)])
    return x


def _replaced(t: Translation, x: Any, source: Any, dim: int, places: Sequence[int]) -> Value:
    """A value with the entries of another at these places of a dimension."""
    kind, size = t.dtype(), t.shape()[dim]
    both = t.emit("Concat", [t.value(x, kind), t.value(source, kind)], axis=int(dim))
    where = {place: size + at for at, place in enumerate(places)}
    return _gather(t, both, dim, [where.get(at, at) for at in range(size)])


@rule("slice_scatter")
def _slice_scatter(t: Translation, x: Any, source: Any, dim: int, start: Any, end: Any, step: int) -> Value:
    return _replaced(t, x, source, dim, range(t.shape()[dim])[slice(start, end, step)])


@rule("select_scatter")
def _select_scatter(t: Translation, x: Any, source: Any, dim: int, index: int) -> Value:
    at = dim % len(t.shape())
    return _replaced(
        t, x, t.emit("Unsqueeze", [t.value(source, t.dtype()), t.integers([at])]), dim, [index % t.shape()[dim]]
    )


@rule("copy")
def _copy(t: Translation, x: Any, source: Any, *_: Any) -> Value:
    return t.emit("Expand", [t.value(source, t.dtype()), t.integers(t.shape())])


@rule("fill", "zero", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full")
def _filled(t: Translation, x: Any, *rest: Any) -> Any:
    """A constant of the shape of a value."""
    import torch

    kind, found = base(t.node), t.node.meta["val"]
    numbers = [each for each in rest if isinstance(each, (int, float)) and not isinstance(each, bool)]
    value = 1.0 if "ones" in kind else 0.0 if "zero" in kind else numbers[0] if numbers else None
    if value is None:
        raise t.refuse("expected a number to fill it with")
    return torch.full(t.shape(), value, dtype=found.dtype)


@rule("pixel_shuffle", "pixel_unshuffle")
def _pixel_shuffle(t: Translation, x: Value, factor: int) -> Value:
    *lead, c, h, w = t.shape(t.node.args[0])
    n, r = len(lead), factor
    if base(t.node) == "pixel_shuffle":
        inner, order = [c // r**2, r, r, h, w], [0, 3, 1, 4, 2]
    else:
        inner, order = [c, h // r, r, w // r, r], [0, 2, 4, 1, 3]
    x = t.emit("Reshape", [x, t.integers(lead + inner)])
    x = t.emit("Transpose", [x], perm=list(range(n)) + [n + each for each in order])
    return t.emit("Reshape", [x, t.integers(t.shape())])


def _axes_resized(t: Translation, given: Sequence[Any]) -> Iterator[tuple[int, int, int, float | None]]:
    """The axes of an image that change: which one, its sizes before and after, and the factor if one was given."""
    inside, outside = t.shape(t.node.args[0]), t.shape()
    factors = [each for part in given for each in (part if isinstance(part, (list, tuple)) else [part])]
    for at, dim in enumerate(range(2, len(inside))):
        factor = factors[at] if at < len(factors) else None
        if inside[dim] != outside[dim] or factor is not None:
            yield dim, inside[dim], outside[dim], factor


@rule("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
      "_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d")  # fmt: skip
def _upsample(t: Translation, x: Value, _: Any, *factors: Any) -> Value:
    import torch

    aten = torch.ops.aten
    nearest = aten._upsample_nearest_exact1d if "exact" in base(t.node) else aten.upsample_nearest1d
    for dim, before, after, factor in _axes_resized(t, factors):
        # PyTorch itself says which entry is the nearest one.
        places = nearest(torch.arange(before, dtype=torch.float64).view(1, 1, -1), [after], factor)
        x = _gather(t, x, dim, [int(place) for place in places.flatten()])
    return x


@rule("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
def _interpolate(t: Translation, x: Value, _: Any, align_corners: bool, *factors: Any) -> Value:
    import torch

    dtype = getattr(torch, t.dtype())
    for dim, before, after, factor in _axes_resized(t, factors):
        # The weights are those with which PyTorch interpolates unit vectors.
        units = torch.eye(before, dtype=dtype).unsqueeze(0)
        weights = torch.ops.aten.upsample_linear1d(units, [after], align_corners, factor)[0]
        order = list(range(len(t.shape())))
        order[dim], order[-1] = order[-1], order[dim]
        turned = x if dim == order[dim] else t.emit("Transpose", [x], perm=order)
        made = t.emit("MatMul", [turned, t.value(weights)])
        x = made if dim == order[dim] else t.emit("Transpose", [made], perm=order)
    return x


@rule("constant_pad_nd", "pad", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d",
       "replication_pad1d", "replication_pad2d", "replication_pad3d")  # fmt: skip
def _pad(t: Translation, x: Value, sides: Sequence[int], *rest: Any) -> Value:
    kind, mode, value = base(t.node), "constant", 0.0
    if kind == "pad":
        mode, value = {"replicate": "edge", "circular": "wrap"}.get(rest[0], rest[0]), rest[1] or 0.0
    elif kind == "constant_pad_nd":
        value = rest[0] if rest and rest[0] is not None else 0.0
    else:
        mode = "reflect" if kind.startswith("reflection") else "edge"
    rank = len(t.shape())
    before, after = [0] * rank, [0] * rank
    for at in range(len(sides) // 2):
        before[rank - 1 - at], after[rank - 1 - at] = sides[2 * at], sides[2 * at + 1]
    return t.emit("Pad", [x, t.integers(before + after), t.value(float(value), t.dtype())], mode=mode)
