"""What a PyTorch module computes at some inputs, against what was read of it.

A trace holds what happened once: random numbers, what hooks of all modules do, and values that a layer computes and does not
return would get into the network without a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._trace import leaves
from .errors import UnsupportedLayerError

if TYPE_CHECKING:
    from ._native import Net

# Numbers differ by more than rounding if they differ by more than this, relative to the largest one, and absolutely.
_ROUNDING = {"float64": (1e-6, 1e-10), "float32": (1e-3, 1e-5)}
_HALF = (5e-2, 1e-2)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was asked for, at some inputs."""

    inputs: np.ndarray
    """One row per input."""
    values: list[np.ndarray]
    """One array per call of the layer that is asked for (one, if it is a result), of one row per input."""
    rounding: tuple[float, float]
    layer: str | None


def seen(module: Any, inputs: tuple[Any, ...], output: str | None, result: str | None) -> Seen | None:
    """What a module computes at two inputs; `None` if that cannot be told."""
    layer = None
    if result is None:
        try:
            layer = module.get_submodule(output)
        except AttributeError:
            return None
    rows, found = [], []
    for given in _like(inputs):
        try:
            values, again = (_values(module, given, layer, result) for _ in range(2))
        except UnsupportedLayerError as error:
            raise UnsupportedLayerError(f"output: layer {output}: {error}") from None
        except Exception:
            return None
        if not values:
            return None
        rows.append(np.concatenate([_row(each) for each in given]))
        found.append(values)
        if (
            len(values) != len(again)
            or any(a.tobytes() != b.tobytes() for a, b in zip(values, again))
            and not all(np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True) for a, b in zip(values, again))
        ):
            raise UnsupportedLayerError(
                f"{type(module).__name__}: it gives different numbers when it is asked twice, so it is no function of its input, "
                "also after .eval()"
            )
    if len({tuple(each.shape for each in values) for values in found}) != 1:
        return None
    dtype = str(inputs[0].dtype).removeprefix("torch.")
    calls = [np.stack(call) for call in zip(*found)]
    return Seen(np.stack(rows), calls, _ROUNDING.get(dtype, _HALF), output if layer is not None else None)


def compare(net: Net, seen: Seen, name: str) -> list[str]:
    """Refuses a network that computes something else than the module; notes."""
    if net.set_aside or seen.inputs.shape[1] != net.widths[0] or not np.isfinite(seen.inputs).all():
        return []
    computed = net.evaluate(np.ascontiguousarray(seen.inputs, dtype=np.float64))
    rounding = _HALF if any("the rounding of values to" in note for note in net.notes) else seen.rounding
    fits = [at for at, call in enumerate(seen.values, 1) if _is_close(computed, call, rounding)]
    if not fits and seen.layer is not None:
        raise UnsupportedLayerError(
            f"{name}: layer {seen.layer} returns something else than the value that it computes last, which is what can be read; name a layer inside it"
        )
    if not fits:
        raise UnsupportedLayerError(
            f"{name}: what was traced of it computes other numbers than the module itself, which does more than its operators say "
            "(hooks, numbers that change from call to call); give the part of the module that does not"
        )
    if len(seen.values) > 1 and len(fits) < len(seen.values):
        return [f"layer {seen.layer} is called {len(seen.values)} times; the network is that of call {fits[0]}"]
    return []


def _is_close(computed: np.ndarray, seen: np.ndarray, rounding: tuple[float, float]) -> bool:
    if computed.shape != seen.shape:
        return False
    usable = np.isfinite(seen).all(axis=1) & np.isfinite(computed).all(axis=1)
    if not usable.any():
        return True
    relative, absolute = rounding
    allowed = relative * np.abs(seen[usable]).max() + absolute
    return bool((np.abs(computed - seen)[usable] <= allowed).all())


def _like(inputs: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """The given inputs, and random ones of their shapes."""
    import torch

    yield inputs
    random = torch.Generator().manual_seed(1)
    yield tuple(
        3 * torch.randn(each.shape, generator=random).to(each.device, each.dtype) if each.is_floating_point() else each
        for each in inputs
    )


def _values(module: Any, given: tuple[Any, ...], layer: Any, result: str | None) -> list[np.ndarray]:
    """What the result of this name is, or what the layer returns at each of its calls; nothing if that is not one tensor."""
    import torch

    kept: list[Any] = []
    handle = None
    if layer is not None:
        handle = layer.register_forward_hook(lambda _module, _given, returned: kept.append(_kept(returned)))
    try:
        returned = module(*given)
    finally:
        if handle is not None:
            handle.remove()
    if layer is None:
        kept = [each for name, each in leaves(returned) if name == result]
    return [_row(each) for each in kept if isinstance(each, torch.Tensor)]


def _kept(returned: Any) -> Any:
    """The tensor that a layer returns, before it is changed in place."""
    found = [each for _, each in leaves(returned) if hasattr(each, "detach")]
    if len(found) > 1:
        raise UnsupportedLayerError(f"it returns {len(found)} tensors; name a layer inside it")
    return found[0].detach().clone() if found else None


def _row(tensor: Any) -> np.ndarray:
    row: np.ndarray = tensor.detach().cpu().double().numpy().ravel()
    return row
