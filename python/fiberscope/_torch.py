"""PyTorch modules to networks and back.

A module is exported with `torch.export`, or traced with `torch.fx` where that fails, and its ATen operators are written as an
ONNX graph (`_aten`), which the reader of ONNX files reads: what a convolution or a residual block means is said in one place.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._aten import as_array
from ._onnx import Graph
from ._seen import Seen, seen
from ._trace import translated
from .errors import ArgumentError, ShapeError, UnsupportedLayerError

if TYPE_CHECKING:
    import torch

    from ._native import Net


def is_module(value: Any) -> bool:
    """Whether a value is a PyTorch module or looks like one; PyTorch itself is not imported."""
    return type(value).__module__.partition(".")[0] == "torch" or hasattr(value, "named_parameters")


def onnx_model(
    module: Any, example: Any = None, output: str | None = None
) -> tuple[bytes, str, list[str], Seen | None]:
    """A module as the bytes of an ONNX model, the name of the value that is asked for, notes, and what the module computes
    at some inputs, unless it is a plain chain."""
    import torch

    module = _unwrapped(module)
    _with_numbers(module)
    notes: list[str] = []
    with _evaluating(module), torch.random.fork_rng(devices=[]):
        inputs = _examples(module, example, notes)
        plain = _chain(module) if example is None and output is None else None
        if plain is not None:
            return _plain_model(plain), "output", notes, None
        with _quiet(), torch.no_grad():
            model, result = translated(module, inputs, output)
            return model, "output", notes, seen(module, inputs, output, result)


def sequential(net: Net, dtype: torch.dtype | None) -> torch.nn.Sequential:
    """A `Sequential` of Linear and ReLU; hidden layers with identity activation follow each other without one."""
    import torch

    if dtype is None:
        names = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
        dtype = names[net.precision]
    modules: list[torch.nn.Module] = []
    for layer in net.layers():
        linear = torch.nn.Linear(layer.weight.shape[1], layer.weight.shape[0], dtype=dtype)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(layer.weight))
            linear.bias.copy_(torch.from_numpy(layer.bias))
        modules.append(linear)
        if layer.activation == "relu":
            modules.append(torch.nn.ReLU())
    return torch.nn.Sequential(*modules)


def _unwrapped(module: Any) -> Any:
    """The module inside `torch.compile` and DataParallel."""
    import torch

    if not isinstance(module, torch.nn.Module):
        raise UnsupportedLayerError(f"expected a torch.nn.Module, found {type(module).__name__}")
    while True:
        if isinstance(getattr(module, "_orig_mod", None), torch.nn.Module):
            module = module._orig_mod
        elif isinstance(module, (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)):
            module = module.module
        else:
            break
    if isinstance(module, torch.jit.ScriptModule):
        raise UnsupportedLayerError(
            f"{type(module).__name__}: a TorchScript module is not read; give the module that it was made from, "
            "or export it with torch.onnx.export and use fs.load"
        )
    return module


def _with_numbers(module: Any) -> None:
    """A module on the device "meta" has shapes only."""
    for name, each in [*module.named_parameters(), *module.named_buffers()]:
        if each.is_meta:
            raise UnsupportedLayerError(
                f'{type(module).__name__}: {name} has a shape and no numbers (device "meta"); give the module numbers '
                'first: module.to_empty(device="cpu"), then module.load_state_dict(...)'
            )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """PyTorch says on the terminal what it tries; what matters of it is in the error, if there is one."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    """Dropout and batch norm as in evaluation, for a while."""
    training = [each for each in module.modules() if each.training]
    module.eval()
    try:
        yield
    finally:
        for each in training:
            each.training = True


# Example inputs.


def _examples(module: Any, example: Any, notes: list[str]) -> tuple[Any, ...]:
    """The inputs with which a module is traced: those that were given, on its device, or a row of zeros that fits."""
    import torch

    own = next((each for each in module.parameters() if each.is_floating_point()), None)
    if example is None:
        return (_zeros(module, own),)
    given = example if isinstance(example, (tuple, list)) else (example,)
    made: list[Any] = []
    for each in given:
        if isinstance(each, np.ndarray):
            each = torch.from_numpy(each)
        if not isinstance(each, torch.Tensor):
            raise ArgumentError(f"example_input: expected a tensor or a tuple of tensors, found {type(each).__name__}")
        if each.numel() == 0:
            raise ShapeError(f"example_input: it is empty (shape {tuple(each.shape)})")
        each = each.detach()
        if own is not None and each.is_floating_point():
            each = each.to(device=own.device, dtype=own.dtype)
        elif own is not None:
            each = each.to(device=own.device)
        made.append(each)
    if not made:
        raise ArgumentError("example_input: expected a tensor, found an empty tuple")
    return _one_sample(module, tuple(made), notes)


def _one_sample(module: Any, inputs: tuple[Any, ...], notes: list[str]) -> tuple[Any, ...]:
    """The first sample of a batch, if the module treats it as one: at the example and at random numbers, a sample gives what it gives
    among others."""
    import torch

    sizes = {each.shape[0] for each in inputs if each.dim() > 1}
    if len(sizes) != 1 or sizes == {1} or any(each.dim() < 2 for each in inputs):
        return inputs
    size = sizes.pop()
    # In an example of equal samples none would miss the others.
    random = torch.Generator().manual_seed(0)
    other = tuple(
        torch.randn(each.shape, generator=random).to(each.device, each.dtype) if each.is_floating_point() else each
        for each in inputs
    )

    def at(batch: tuple[Any, ...], sample: int) -> tuple[Any, ...]:
        return tuple(each[sample : sample + 1] for each in batch)

    try:
        with torch.no_grad():
            for batch in (inputs, other):
                whole = module(*batch)
                for sample in (0, size - 1):
                    one, among = module(*at(batch, sample)), whole[sample : sample + 1]
                    if whole.shape[0] != size or not torch.allclose(among, one, rtol=1e-3, atol=1e-5):
                        return inputs
    except Exception:
        return inputs
    notes.append(f"the example has {size} samples; the network is that of one")
    return at(inputs, 0)


def _zeros(module: Any, own: Any) -> Any:
    """A row of zeros for a module whose first parameters are those of a linear layer."""
    import torch
    from torch import nn

    for name, each in module.named_modules():
        if isinstance(each, nn.Linear):
            return torch.zeros(1, each.in_features, dtype=own.dtype, device=own.device)
        if any(True for _ in each.parameters(recurse=False)) and not isinstance(each, (nn.BatchNorm1d, nn.PReLU)):
            where = f"layer {name} ({type(each).__name__})" if name else type(each).__name__
            raise UnsupportedLayerError(
                f"{where}: the shape of the input is not known; give an example, fs.from_torch(module, torch.zeros(1, ...))"
            )
    raise ShapeError(
        f"{type(module).__name__}: no linear layer found that would tell the number of inputs; "
        "give an example, fs.from_torch(module, torch.zeros(1, ...))"
    )


# Plain chains, which need no tracing.


def _chain(module: Any) -> list[tuple[str, Any]] | None:
    """The linear layers and ReLUs of plain `Sequential`s, with their names; `None` for anything else."""
    from torch import nn

    if _is_changed(module):
        return None
    if type(module) is nn.Linear:
        return [("", module)]
    if type(module) is not nn.Sequential:
        return None
    found: list[tuple[str, Any]] = []
    # All of them, also one that stands there twice.
    for name, each in module._modules.items():
        if type(each) in (nn.Identity, nn.Dropout) or type(each) is nn.Flatten and each.start_dim == 1:
            continue
        if type(each) is nn.ReLU:
            found.append((name, each))
            continue
        inner = _chain(each)
        if inner is None:
            return None
        found += [(f"{name}.{path}" if path else name, layer) for path, layer in inner]
    return found


def _is_changed(module: Any) -> bool:
    """Whether more happens in it than its classes say: hooks, parametrizations, a `forward` of the instance."""
    import torch.nn.modules.module as everywhere

    if everywhere._global_forward_hooks or everywhere._global_forward_pre_hooks:
        return True
    names = ("_forward_hooks", "_forward_pre_hooks", "parametrizations")
    return any("forward" in vars(each) or any(getattr(each, name, None) for name in names) for each in module.modules())


def _plain_model(chain: Sequence[tuple[str, Any]]) -> bytes:
    graph = Graph()
    first = next((layer for _, layer in chain if hasattr(layer, "in_features")), None)
    if first is None:
        raise ShapeError("no linear layer found")
    value = graph.input("input", [1, first.in_features], as_array(first.weight)[1])
    for at, (path, layer) in enumerate(chain):
        name, made = path or "linear", f"%{at}"
        if hasattr(layer, "in_features"):
            given = [(f"{name}.weight", layer.weight)] + ([] if layer.bias is None else [(f"{name}.bias", layer.bias)])
            inputs = [value] + [graph.constant(each, *as_array(tensor)) for each, tensor in given]
            value = graph.node("Gemm", name, inputs, made, transB=1)
        else:
            value = graph.node("Relu", name, [value], made)
    graph.node("Identity", "output", [value], "output")
    return graph.model(["output"])
