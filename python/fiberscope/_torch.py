"""PyTorch modules to networks and back.

A module is exported with `torch.export`, or traced with `torch.fx` where that fails, and its ATen operators are written as an
ONNX graph (`_aten`), which the reader of ONNX files reads: what a convolution or a residual block means is said in one place.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _aten_maps, _aten_shapes  # noqa: F401  they register what operators mean
from ._aten import Refused, Translation, UnknownOperator, Value, as_array, changes_in_place
from ._onnx import Graph
from .errors import ArgumentError, ShapeError, UnsupportedLayerError

if TYPE_CHECKING:
    import torch

    from ._native import Net


def is_module(value: Any) -> bool:
    """Whether a value is a PyTorch module or looks like one; PyTorch itself is not imported."""
    return type(value).__module__.partition(".")[0] == "torch" or hasattr(value, "named_parameters")


def onnx_model(module: Any, example: Any = None, output: str | None = None) -> tuple[bytes, str, list[str]]:
    """A module as the bytes of an ONNX model, the name of the value that is asked for, and notes."""
    import torch

    module = _unwrapped(module)
    _with_numbers(module)
    notes: list[str] = []
    with _evaluating(module):
        inputs = _examples(module, example, notes)
        plain = _chain(module) if example is None and output is None else None
        if plain is not None:
            return _plain_model(plain), "output", notes
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            program = _exported(module, inputs)
            try:
                made = _translated(program, output)
            except UnknownOperator as unknown:
                try:
                    made = _translated(program.decomposed(), output)
                except UnsupportedLayerError:
                    raise UnsupportedLayerError(str(unknown)) from None
    return *made, notes


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


# Export.


class _Program:
    """A graph of ATen operators, the tensors of its first inputs with their names, and its results."""

    def __init__(self, graph: Any, tensors: dict[str, tuple[str, Any]], structure: Any, exported: Any = None) -> None:
        self.graph, self.tensors, self.structure, self.exported = graph, tensors, structure, exported

    def is_result(self, at: int) -> bool:
        """Whether an output of the graph is one of the module, and no buffer that it changed."""
        if self.exported is None:
            return True
        specs = self.exported.graph_signature.output_specs
        return at >= len(specs) or specs[at].kind.name == "USER_OUTPUT"

    def results(self, found: Sequence[Any]) -> list[tuple[str, Any]]:
        """What the module returns, each tensor with its name: `result`, or `result.0` and `result.logits` where there are several."""
        from torch.utils import _pytree

        return _named(_pytree.tree_unflatten(found, self.structure))

    def decomposed(self) -> _Program:
        if self.exported is None:
            raise UnsupportedLayerError("there is nothing to decompose")
        return _of_exported(self.exported.run_decompositions())


def _exported(module: Any, inputs: tuple[Any, ...]) -> _Program:
    import torch

    errors: list[Exception] = []
    for strict in (False, True):
        try:
            program = torch.export.export(module, inputs, strict=strict)
            if changes_in_place(program.graph):
                program = program.run_decompositions({})
            return _of_exported(program)
        except Exception as error:
            errors.append(error)
    try:
        return _traced(module, inputs)
    except Exception as error:
        errors.append(error)
    lines = (line.strip() for error in (errors[0], errors[-1]) for line in str(error).splitlines() if line.strip())
    first = next(lines, type(errors[0]).__name__)
    raise UnsupportedLayerError(
        f"{type(module).__name__}: its forward cannot be traced with inputs of shapes "
        f"{', '.join(str(tuple(each.shape)) for each in inputs)} ({first}); if the shapes are right, write it without choices that depend on the numbers, such as torch.where in place "
        "of if, or give the part of the module that has none"
    ) from errors[0]


def _of_exported(program: Any) -> _Program:
    tensors: dict[str, tuple[str, Any]] = {}
    for spec in program.graph_signature.input_specs:
        if spec.kind.name in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
            held = program.state_dict.get(spec.target)
            tensors[spec.arg.name] = (spec.target, program.constants[spec.target] if held is None else held)
    return _Program(program.graph, tensors, program.call_spec.out_spec, program)


def _traced(module: Any, inputs: tuple[Any, ...]) -> _Program:
    """By `torch.fx`, which refuses choices that depend on numbers; then the trace is run once to get at ATen operators."""
    import torch
    import torch.fx
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.utils import _pytree

    traced = torch.fx.symbolic_trace(module)
    held = dict(traced.named_parameters()) | dict(traced.named_buffers())
    names = list(held)

    structures: list[Any] = []

    def run(tensors: list[Any], *given: Any) -> Any:
        found = torch.func.functional_call(traced, dict(zip(names, tensors)), given)
        values, structure = _pytree.tree_flatten(found)
        structures.append(structure)
        return values

    graph = make_fx(torch.func.functionalize(run), tracing_mode="fake")(list(held.values()), *inputs).graph
    places = [node for node in graph.nodes if node.op == "placeholder"]
    return _Program(graph, {node.name: (name, held[name]) for node, name in zip(places, names)}, structures[-1])


def _translated(program: _Program, output: str | None) -> tuple[bytes, str]:
    t = Translation()
    taken = {"output"} | {
        node.name for node in program.graph.nodes if node.op == "placeholder" and node.name not in program.tensors
    }
    count = 0
    results: list[tuple[str, Any]] = []
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in program.tensors:
            name, tensor = program.tensors[node.name]
            t.values[node] = tensor
            t.names[id(tensor)] = f"%held.{name}" if name in taken else name
        elif node.op == "placeholder":
            t.input(node, count)
            count += 1
        elif node.op == "get_attr":
            owner: Any = program.graph.owning_module
            for step in str(node.target).split("."):
                owner = getattr(owner, step)
            t.values[node] = owner
        elif node.op == "output":
            t.node = node
            results = program.results([each for at, each in enumerate(_flat(node.args[0])) if program.is_result(at)])
        elif output is not None:
            t.step_unless_refused(node)
        else:
            t.step(node)
    value = _asked(t, results) if output is None else _called(t, results, output)
    t.graph.node("Identity", "output", [value], "output")
    return t.graph.model(["output"]), "output"


def _asked(t: Translation, results: list[tuple[str, Any]]) -> Value:
    """The one value that a module returns."""
    found = {name: t.resolve(given) for name, given in results}
    values = {name: value for name, value in found.items() if isinstance(value, Value)}
    if not values:
        raise UnsupportedLayerError("output: the result does not depend on the input")
    if len(set(values.values())) > 1:
        raise UnsupportedLayerError(
            f"output: the module returns {len(values)} tensors, {', '.join(list(values)[:6])}; name the one that is meant "
            f"(output={next(iter(values))!r}) or a layer"
        )
    return next(iter(values.values()))


def _called(t: Translation, results: list[tuple[str, Any]], output: str) -> Value:
    """The values of a layer, or one of several tensors that a module returns."""
    named = dict(results)
    wanted = t.paths[output] if output in t.paths else t.resolve(named[output]) if output in named else None
    if isinstance(wanted, Refused):
        raise wanted.error
    if isinstance(wanted, Value):
        return wanted
    if output in named:
        raise UnsupportedLayerError(f"output {output!r}: it does not depend on the input")
    known = ", ".join([*t.paths][:12] + ([*named][:6] if len(named) > 1 else []))
    raise ArgumentError(f"output {output!r}: expected a layer of the module, such as {known}")


def _named(given: Any, name: str = "result") -> list[tuple[str, Any]]:
    """The tensors of nested tuples and dictionaries, named by their places and keys."""
    if isinstance(given, dict):
        parts = list(given.items())
    elif isinstance(given, (list, tuple)):
        parts = list(zip(getattr(given, "_fields", range(len(given))), given))
    else:
        return [(name, given)]
    return [each for key, part in parts for each in _named(part, f"{name}.{key}")]


def _flat(given: Any) -> list[Any]:
    if isinstance(given, dict):
        given = list(given.values())
    return [each for part in given for each in _flat(part)] if isinstance(given, (list, tuple)) else [given]
