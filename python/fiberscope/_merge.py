"""Two networks made one: the second aligned with the first, and the parameters averaged."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from . import _native, _torch
from ._load import as_network
from ._parameters import of_module
from ._questions import align
from .errors import ArgumentError, UnsupportedLayerError
from .network import Network

if TYPE_CHECKING:
    import os

    import torch
    from typing_extensions import Unpack

    from ._parameters import Parameters
    from ._terms import Options

    Module = TypeVar("Module", bound=torch.nn.Module)


@overload
def merge(
    a: Parameters | str | os.PathLike[str],
    b: Parameters | str | os.PathLike[str] | torch.nn.Module,
    t: float = ...,
    *,
    scaling: str = ...,
    **options: Unpack[Options],
) -> Network: ...


@overload
def merge(
    a: Module,
    b: Parameters | str | os.PathLike[str] | torch.nn.Module,
    t: float = ...,
    *,
    scaling: str = ...,
    **options: Unpack[Options],
) -> Module: ...


def merge(a: Any, b: Any, t: float = 0.5, *, scaling: str = "auto", **options: Unpack[Options]) -> Any:
    """`(1 - t)` times the parameters of `a` and `t` times those of `b`, after `b` was aligned with `a`.

    Neurons have no names: averaged as they are stored, two networks that compute the same function can make one that computes
    another. `b` is first rewritten by permutations and positive scalings (`fs.align`). The result has the precision of `a`; for a
    torch module it is a copy of that module with the new parameters.

    >>> import fiberscope as fs
    >>> middle = fs.merge("zoo:deep", "zoo:deep-shuffled", 0.5)
    >>> bool(fs.equiv(middle, "zoo:deep"))
    True
    """
    if not 0 <= t <= 1:
        raise ArgumentError(f"t: expected a number from 0 to 1, found {t!r}")
    first = as_network(a)
    second = align(first, b, scaling=scaling, **options).network
    made = Network._of(_native.interpolate(first._net, second._net, float(t), "merged"))
    return _module(a, made) if _torch.is_module(a) else made


def _module(module: torch.nn.Module, network: Network) -> torch.nn.Module:
    """A copy of a module with the parameters of a network; reading it again proves that each is in its place."""
    import torch

    made = copy.deepcopy(module)
    linear = [layer for layer in made.modules() if isinstance(layer, torch.nn.Linear)]
    arrays = list(zip(network.weights, network.biases))
    # A module that ends with a ReLU has an identity behind it as a network.
    if len(linear) in (len(arrays), len(arrays) - 1):
        with torch.no_grad():
            for layer, (weight, bias) in zip(linear, arrays):
                if tuple(layer.weight.shape) == weight.shape:
                    layer.weight.copy_(torch.from_numpy(weight))
                if layer.bias is not None and tuple(layer.bias.shape) == bias.shape:
                    layer.bias.copy_(torch.from_numpy(bias))
        again = Network._of(of_module(made))
        if again.widths == network.widths and all(
            np.allclose(one, other, rtol=2**-7 if network.precision == "bf16" else 0, atol=0)
            for one, other in zip(again.weights + again.biases, network.weights + network.biases)
        ):
            return made
    raise UnsupportedLayerError(
        f"{type(module).__name__}: expected a module whose layers are its Linear modules, in their order; "
        "fs.merge(fs.from_torch(a), fs.from_torch(b)) gives the merged network, and its to_torch a module"
    )
