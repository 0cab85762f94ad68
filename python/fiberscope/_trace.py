"""PyTorch modules as graphs: `torch.export`, or `torch.fx` where that fails, and the translation of what they give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _aten_maps, _aten_shapes  # noqa: F401  they register what operators mean
from ._aten import Refused, Translation, UnknownOperator, Value, changes_in_place
from .errors import ArgumentError, UnsupportedLayerError


def translated(module: Any, inputs: tuple[Any, ...], output: str | None) -> tuple[bytes, str | None]:
    """An ONNX model of what a module computes, and the name of the result that it is; `None` if it is that of a layer."""
    program = _exported(module, inputs)
    try:
        return _translated(program, output)
    except UnknownOperator as unknown:
        try:
            return _translated(program.decomposed(), output)
        except UnsupportedLayerError:
            raise UnsupportedLayerError(str(unknown)) from None


def leaves(given: Any) -> list[tuple[str, Any]]:
    """What a module returns, each tensor with its name: `result`, or `result.0` and `result.logits` where there are several."""
    from torch.utils import _pytree

    try:
        found, _ = _pytree.tree_flatten_with_path(given)
    except ValueError:
        # A type that does not say what its parts are called.
        return [(f"result.{at}", each) for at, each in enumerate(_pytree.tree_flatten(given)[0])]
    return [(".".join(["result", *map(_key, path)]), each) for path, each in found]


def _key(step: Any) -> str:
    return str(next((getattr(step, name) for name in ("key", "idx", "name") if hasattr(step, name)), step))


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
        """What the module returns."""
        from torch.utils import _pytree

        return leaves(_pytree.tree_unflatten(found, self.structure))

    def decomposed(self) -> _Program:
        if self.exported is None:
            raise UnsupportedLayerError("there is nothing to decompose")
        try:
            return _of_exported(self.exported.run_decompositions())
        except Exception as error:
            raise UnsupportedLayerError("it cannot be decomposed") from error


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

    if "forward" in vars(module) or module._forward_hooks or module._forward_pre_hooks:
        raise UnsupportedLayerError("hooks and a forward of the instance are not traced")
    traced = torch.fx.symbolic_trace(module)
    held = dict(traced.named_parameters()) | dict(traced.named_buffers())
    structures: list[Any] = []

    def run(tensors: list[Any], *given: Any) -> Any:
        found = torch.func.functional_call(traced, dict(zip(held, tensors)), given)
        values, structure = _pytree.tree_flatten(found)
        structures.append(structure)
        return values

    graph = make_fx(torch.func.functionalize(run), tracing_mode="fake")(list(held.values()), *inputs).graph
    places = [node for node in graph.nodes if node.op == "placeholder"]
    tensors = {node.name: (name, held[name]) for node, name in zip(places, held)}
    return _Program(graph, tensors, structures[-1])


def _translated(program: _Program, output: str | None) -> tuple[bytes, str | None]:
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
    asked = _asked(t, results) if output is None else _called(t, results, output)
    t.graph.node("Identity", "output", [asked[0]], "output")
    return t.graph.model(["output"]), asked[1]


def _asked(t: Translation, results: list[tuple[str, Any]]) -> tuple[Value, str]:
    """The one value that a module returns, and its name."""
    values, errors = [], []
    for name, given in results:
        try:
            value = t.resolve(given)
        except UnsupportedLayerError as error:
            errors.append(error)
            continue
        if isinstance(value, Value):
            values.append((value, name))
    if errors and not values:
        raise errors[0]
    if not values:
        raise UnsupportedLayerError("output: the result does not depend on the input")
    if errors or len({value for value, _ in values}) > 1:
        names = [name for _, name in values]
        raise UnsupportedLayerError(
            f"output: the module returns {len(values) + len(errors)} tensors, {', '.join(names[:6])}; name the one that is meant "
            f"(output={names[0]!r}) or a layer"
        )
    return values[0]


def _called(t: Translation, results: list[tuple[str, Any]], output: str) -> tuple[Value, str | None]:
    """The values of a layer, or one of several tensors that a module returns, and its name."""
    named = [given for name, given in results if name == output]
    if len(named) > 1 or named and output in t.paths:
        raise ArgumentError(f"output {output!r}: the module has several tensors or layers of this name")
    if not named and output not in t.paths:
        known = [*t.paths][:12] + ([name for name, _ in results][:6] if len(results) > 1 else [])
        such = f", such as {', '.join(known)}" if known else "; none is known, as the module could only be traced"
        raise ArgumentError(f"output {output!r}: expected a layer of the module{such}")
    wanted = t.resolve(named[0]) if named else t.paths[output]
    if isinstance(wanted, Refused):
        raise wanted.error
    if not isinstance(wanted, Value):
        raise UnsupportedLayerError(f"output {output!r}: it does not depend on the input")
    return wanted, output if named else None


def _flat(given: Any) -> list[Any]:
    if isinstance(given, dict):
        given = list(given.values())
    return [each for part in given for each in _flat(part)] if isinstance(given, (list, tuple)) else [given]
