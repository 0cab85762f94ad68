"""PyTorch modules to layers and back.

A module is traced with `torch.fx`, so that `Sequential`, modules with a `forward` of their own, and functional ReLUs all
work. What is not a chain of linear maps and ReLUs is refused with its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import ShapeError, UnsupportedLayerError

if TYPE_CHECKING:
    import torch

    from ._native import Net


@dataclass(slots=True)
class Layer:
    """A layer, in the precision of its module."""

    weight: np.ndarray
    bias: np.ndarray
    activation: str


def is_module(value: Any) -> bool:
    """Whether a value is a PyTorch module or looks like one; PyTorch itself is not imported."""
    return type(value).__module__.partition(".")[0] == "torch" or hasattr(value, "named_parameters")


def layers(module: torch.nn.Module) -> list[Layer]:
    """The layers of a PyTorch module made of Linear, ReLU, Flatten, Identity, Dropout and BatchNorm1d, in its lowest precision.

    Dropout and batch norm are taken as in evaluation; batch norm is folded into the linear layer before it, which rounds.
    """
    made = _Chain(module).layers()
    bits = [layer.weight for layer in made] + [layer.bias for layer in made]
    lowest = min((each.dtype for each in bits), key=lambda dtype: dtype.itemsize)
    for layer in made:
        layer.weight = layer.weight.astype(lowest, copy=False)
        layer.bias = layer.bias.astype(lowest, copy=False)
    return made


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


class _Chain:
    """The steps of a module, one after the other."""

    def __init__(self, module: torch.nn.Module) -> None:
        import torch

        if not isinstance(module, torch.nn.Module):
            raise UnsupportedLayerError(f"expected a torch.nn.Module, found {type(module).__name__}")
        self.module = module
        self.made: list[Layer] = []

    def layers(self) -> list[Layer]:
        import torch.fx

        if isinstance(self.module, torch.nn.Linear):
            self.linear(self.module)
            return self.finish()
        try:
            graph = torch.fx.Tracer().trace(self.module)
        except Exception as error:
            raise UnsupportedLayerError(
                f"{type(self.module).__name__}: its forward cannot be traced ({error}); "
                "export the module to ONNX and use fs.load, or build it from Sequential, Linear and ReLU"
            ) from error
        at = None
        for node in graph.nodes:
            if node.op == "placeholder":
                if at is not None:
                    raise UnsupportedLayerError(f"input {node.target}: expected a module with one input")
                at = node
            elif node.op == "output":
                if node.args[0] is not at:
                    raise UnsupportedLayerError("output: expected the result of the last layer")
            else:
                if node.all_input_nodes != [at]:
                    raise UnsupportedLayerError(
                        f"{_name(node)}: expected a chain of layers, found one with {len(node.all_input_nodes)} inputs "
                        "or a branch"
                    )
                self.step(node)
                at = node
        return self.finish()

    def step(self, node: Any) -> None:
        import torch
        from torch import nn
        from torch.nn import functional

        if node.op == "call_module":
            layer = self.module.get_submodule(node.target)
            if isinstance(layer, nn.Linear):
                return self.linear(layer)
            if isinstance(layer, nn.ReLU):
                return self.relu(_name(node))
            if isinstance(layer, nn.BatchNorm1d):
                return self.batch_norm(layer, _name(node))
            if isinstance(layer, (nn.Identity, nn.Flatten, nn.Dropout)):
                return None
            raise UnsupportedLayerError(
                f"{_name(node)}: {type(layer).__name__} is no linear map and no ReLU; "
                "for convolutions export the module to ONNX and use fs.load"
            )
        relus = (torch.relu, torch.relu_, functional.relu, functional.relu_, "relu", "relu_")
        if node.target in relus:
            return self.relu(_name(node))
        if node.target in (torch.flatten, functional.dropout, "flatten", "view", "reshape"):
            return None
        raise UnsupportedLayerError(f"{_name(node)}: {node.target} is no linear map and no ReLU")

    def linear(self, layer: Any) -> None:
        weight, bias = _numpy(layer.weight), layer.bias
        bias = np.zeros(len(weight), weight.dtype) if bias is None else _numpy(bias)
        self.made.append(Layer(weight, bias, "identity"))

    def relu(self, name: str) -> None:
        if not self.made:
            raise UnsupportedLayerError(f"{name}: a ReLU before the first linear layer")
        self.made[-1].activation = "relu"

    def batch_norm(self, layer: Any, name: str) -> None:
        if not self.made or self.made[-1].activation == "relu":
            raise UnsupportedLayerError(
                f"{name}: batch norm is folded into a linear layer right before it; there is none"
            )
        if layer.running_mean is None:
            raise UnsupportedLayerError(f"{name}: batch norm without running statistics is no linear map")
        mean, variance = (_numpy(each).astype(np.float64) for each in (layer.running_mean, layer.running_var))
        scale = 1 / np.sqrt(variance + layer.eps)
        shift = -mean * scale
        if layer.weight is not None:
            gain, offset = (_numpy(each).astype(np.float64) for each in (layer.weight, layer.bias))
            scale, shift = scale * gain, shift * gain + offset
        last = self.made[-1]
        self.made[-1] = Layer(last.weight * scale[:, None], last.bias * scale + shift, "identity")

    def finish(self) -> list[Layer]:
        if not self.made:
            raise ShapeError(f"{type(self.module).__name__}: no linear layer found")
        last = self.made[-1]
        if last.activation == "relu":
            # The last layer of a network has no activation: the identity behind the ReLU.
            width, dtype = last.weight.shape[0], last.weight.dtype
            self.made.append(Layer(np.eye(width, dtype=dtype), np.zeros(width, dtype), "identity"))
        return self.made


def _name(node: Any) -> str:
    return f"layer {node.target}" if node.op == "call_module" else f"step {node.name}"


def _numpy(tensor: Any) -> np.ndarray:
    import torch

    tensor = tensor.detach().cpu()
    found: np.ndarray = (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
    return found
