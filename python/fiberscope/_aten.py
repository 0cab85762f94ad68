"""ATen graphs, as `torch.export` makes them, written as ONNX graphs.

Nothing is decided here about what is piecewise linear: every operator becomes the ONNX operator that means the same, and the
reader of graphs takes it or refuses it by name. Constants keep the precision of the module. What depends on parameters
alone (a weight that is computed from two tensors) is computed by PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ._onnx import Attribute, Graph
from .errors import UnsupportedLayerError


class Value(str):
    """The name of a value that depends on the input."""

    __slots__ = ()


class Unread:
    """A result that is not read, such as the places of largest entries."""


class Refused:
    """A result that cannot be had; whoever needs it is told why."""

    def __init__(self, error: UnsupportedLayerError) -> None:
        self.error = error


class UnknownOperator(UnsupportedLayerError):
    """An operator without a translation."""


class Translation:
    """A graph of torch.fx with ATen operators, on its way to ONNX."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.values: dict[Any, Any] = {}
        """For every node: a value, a tensor that is constant, or a list of such for operators with several results."""
        self.paths: dict[str, Value | Refused] = {}
        """The last value of every module."""
        self.names: dict[int, str] = {}
        """What parameters and buffers are called, by their identity."""
        self.node: Any = None
        self._count = 0

    # What is known of a node.

    def path(self) -> tuple[str, str]:
        """The module in whose `forward` the node at work stands: its path and its class."""
        stack = list((self.node.meta.get("nn_module_stack") or {}).values())
        path, kind = (stack[-1] + ("",))[:2] if stack else ("", "")
        kind = kind if isinstance(kind, str) else getattr(kind, "__qualname__", "")
        return str(path), str(kind).rpartition(".")[2]

    def name(self) -> str:
        """How the node at work is called: by its module if it has one."""
        return self.path()[0] or self.node.name

    def refuse(self, reason: str) -> UnsupportedLayerError:
        path, kind = self.path()
        where = f"layer {path} ({kind})" if path else f"step {self.node.name}"
        before = [
            each
            for each, value in self.paths.items()
            if isinstance(value, Value) and each != path and not path.startswith(f"{each}.")
        ]
        advice = f"; output={before[-1]!r} reads the module up to that layer" if before else ""
        return UnsupportedLayerError(f"{where}, {_operator(self.node)}: {reason}{advice}")

    # Values.

    def is_constant(self, value: Any) -> bool:
        import torch

        return isinstance(value, torch.Tensor) or value is None

    def value(self, given: Any, like: str | None = None, label: str | None = None) -> str:
        """The name of a value; of a constant if it is one. Numbers get the type `like`."""
        import torch

        if isinstance(given, Value):
            return given
        if isinstance(given, (bool, int, float)):
            dtype = like or "float32"
            if dtype == "bfloat16":
                given = torch.tensor(given, dtype=torch.bfloat16)
            else:
                return self.graph.constant(self.fresh("number"), np.array(given, dtype=dtype))
        if isinstance(given, torch.Tensor):
            if like is not None and not given.is_floating_point():
                # As PyTorch does in arithmetic with floating-point numbers.
                given = given.to(getattr(torch, like))
            array, dtype = as_array(given)
            return self.graph.constant(label or self.names.get(id(given)) or self.fresh("constant"), array, dtype)
        raise self.refuse(f"expected a tensor or a number, found {type(given).__name__}")

    def integers(self, values: Sequence[int]) -> str:
        return self.graph.constant(self.fresh("integers"), np.array([int(each) for each in values], dtype=np.int64))

    def fresh(self, what: str) -> str:
        self._count += 1
        return f"%{what}.{self._count}"

    def emit(self, operator: str, inputs: Sequence[Any], **attributes: Attribute) -> Value:
        named = [each if isinstance(each, str) else self.value(each) for each in inputs]
        return Value(self.graph.node(operator, self.name(), named, self.fresh(self.node.name), **attributes))

    def dtype(self, node: Any = None) -> str:
        """The type of the numbers of a node."""
        found = (self.node if node is None else node).meta["val"]
        found = found[0] if isinstance(found, (list, tuple)) else found
        return str(found.dtype).removeprefix("torch.")

    def shape(self, node: Any = None) -> list[int]:
        found = (self.node if node is None else node).meta["val"]
        try:
            return [int(size) for size in found.shape]
        except Exception as error:
            raise self.refuse("the shape of its result is not known beforehand") from error

    # Translation.

    def input(self, node: Any, at: int) -> None:
        self.node = node
        if not str(node.meta["val"].dtype).removeprefix("torch.").startswith(("float", "bfloat")):
            raise self.refuse(
                f"input {at + 1} holds {node.meta['val'].dtype}; expected floating-point numbers, as the layers behind an embedding get"
            )
        self.values[node] = Value(self.graph.input(str(node.name), self.shape(), self.dtype()))

    def resolve(self, given: Any) -> Any:
        """An argument with nodes replaced by what they stand for."""
        import torch.fx

        if isinstance(given, torch.fx.Node):
            found = self.values[given]
            if isinstance(found, Refused):
                raise found.error
            if isinstance(found, Unread):
                raise self.refuse(f"it uses the places in {given.name}, which jump: no ReLU network gives them")
            return found
        if isinstance(given, (list, tuple)):
            return type(given)(self.resolve(each) for each in given)
        return given

    def step(self, node: Any) -> None:
        """Translates one call."""
        import operator

        self.node = node
        guards = str(getattr(node.target, "_schema", "")).startswith(("aten::_assert", "aten::sym_"))
        if node.op == "call_module" or guards or node.target in (operator.ge, operator.le, operator.eq):
            # Guards of the exporter: they compute nothing.
            self.values[node] = None
            return
        if node.target is operator.getitem:
            whole = self.values[node.args[0]]
            self.values[node] = whole[node.args[1]] if isinstance(whole, (list, tuple)) else whole
            return
        if _changes_arguments(node):
            # What was computed before would have to change with it.
            raise UnknownOperator(
                str(self.refuse("it changes a tensor in place; use the operator that returns a new one"))
            )
        if any(isinstance(self.values[each], Unread) for each in node.all_input_nodes):
            # Those who need it are told.
            try:
                self.resolve(node.args)
                self.resolve(dict(node.kwargs))
            except UnsupportedLayerError as error:
                self.values[node] = Refused(error)
                return
        args, kwargs = self.resolve(node.args), self.resolve(dict(node.kwargs))
        if not _has_value(args) and not _has_value(kwargs):
            self.values[node] = self.compute(args, kwargs)
            return
        translate = TABLE.get(base(node))
        if translate is None:
            raise UnknownOperator(str(self.refuse(_ADVICE)))
        self.values[node] = translate(self, *_bound(node, args, kwargs))
        if isinstance(self.values[node], Value):
            self._end_modules(self.values[node])

    def step_unless_refused(self, node: Any) -> None:
        """The same, for a graph of which only a part is asked for: what is refused matters to those who need it."""
        try:
            self.step(node)
        except UnsupportedLayerError as error:
            if _changes_arguments(node):
                raise
            self.values[node] = Refused(error)
            self._end_modules(self.values[node])

    def _end_modules(self, value: Value | Refused) -> None:
        """Notes the last value of the modules in which the node at work stands."""
        path, _ = self.path()
        steps = path.split(".") if path else []
        for at in range(1, len(steps) + 1):
            self.paths[".".join(steps[:at])] = value

    def compute(self, args: Any, kwargs: Any) -> Any:
        """The result of a call without values: PyTorch computes it."""
        import torch

        if torch.Tag.nondeterministic_seeded in getattr(self.node.target, "tags", ()):
            raise self.refuse("its numbers are random: the module is no function of its input, also after .eval()")
        try:
            with torch.no_grad():
                return self.node.target(*args, **kwargs)
        except Exception as error:
            raise self.refuse(f"it cannot be computed ({error})") from error


Rule = Callable[..., Any]
R = TypeVar("R", bound=Rule)
TABLE: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[R], R]:
    def register(rule: R) -> R:
        TABLE.update(dict.fromkeys(names, rule))
        return rule

    return register


def base(node: Any) -> str:
    schema = getattr(node.target, "_schema", None)
    return str(schema.name).removeprefix("aten::").rstrip("_") if schema is not None else str(node.target)


def _changes_arguments(node: Any) -> bool:
    return bool(getattr(getattr(node.target, "_schema", None), "is_mutable", False))


def changes_in_place(graph: Any) -> bool:
    """Whether an operator of a graph changes its arguments."""
    return any(node.op == "call_function" and _changes_arguments(node) for node in graph.nodes)


def _operator(node: Any) -> str:
    return f"operator {base(node)}"


def _bound(node: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments of a call in the order of its schema, defaults filled in."""
    found = []
    for at, argument in enumerate(node.target._schema.arguments):
        if at < len(args):
            found.append(args[at])
        elif argument.name in kwargs:
            found.append(kwargs[argument.name])
        else:
            found.append(argument.default_value if argument.has_default_value() else None)
    return found


def _has_value(given: Any) -> bool:
    if isinstance(given, dict):
        return any(map(_has_value, given.values()))
    return any(map(_has_value, given)) if isinstance(given, (list, tuple)) else isinstance(given, Value)


_ADVICE = "it is not read; use linear maps, convolutions, pooling and piecewise linear activations instead"


def as_array(tensor: Any) -> tuple[np.ndarray, str]:
    """The numbers of a tensor and their type; those of bfloat16 as their bits."""
    import torch

    tensor = tensor.detach().cpu()
    tensor = (tensor if tensor.layout == torch.strided else tensor.to_dense()).contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16), "bfloat16"
    if not tensor.is_floating_point():
        return tensor.to(torch.int64).numpy(), "int64"
    return tensor.numpy(), str(tensor.dtype).removeprefix("torch.")


def constant(t: Translation, given: Any, what: str) -> Any:
    if not t.is_constant(given):
        raise t.refuse(f"its {what} depends on the input: the result is not piecewise linear")
    return given


def sizes(value: Any, axes: int) -> list[int]:
    values = [int(value)] if isinstance(value, int) else [int(each) for each in value]
    return values * axes if len(values) == 1 else values
