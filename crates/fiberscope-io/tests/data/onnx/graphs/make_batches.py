"""Makes the graphs that mix, count or repeat the samples of a batch, and a few others that are easily misread;
adds what onnxruntime makes of them to outputs.json.

Run with onnx 1.23 and onnxruntime 1.31, after make_graphs.py:

    python make_batches.py
"""

import json
import pathlib

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.helper import make_node

FOLDER = pathlib.Path(__file__).parent


def floats(values):
    return np.asarray(values, dtype=np.float32)


def integers(values):
    return np.asarray(values, dtype=np.int64)


def save(name, nodes, constants, shape, kind=TensorProto.FLOAT):
    """Writes a graph from `x` of that shape to `y`; returns its name."""
    x, y = (helper.make_tensor_value_info(end, kind, dims) for end, dims in [("x", shape), ("y", None)])
    initializers = [numpy_helper.from_array(value, key) for key, value in constants.items()]
    graph = helper.make_graph(nodes, name, [x], [y], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString())
    return name


def switches_after_constants():
    """A long line of products and sums before a HardSigmoid, beside a Relu."""
    nodes, constants, last = [make_node("Relu", ["x"], ["r"])], {}, "x"
    for i in range(8):
        nodes.append(make_node("Mul" if i % 2 == 0 else "Add", [last, f"k{i}"], [f"c{i}"]))
        last, constants[f"k{i}"] = f"c{i}", floats([1.1 + i, 0.7, -0.3])
    nodes += [make_node("HardSigmoid", [last], ["h"]), make_node("Concat", ["r", "h"], ["y"], axis=1)]
    return save("switches_after_constants", nodes, constants, [1, 3])


def mixing(random):
    """Graphs whose first axis is no batch."""
    left = [make_node("MatMul", ["w", "x"], ["a"]), make_node("Gather", ["a", "i"], ["y"], axis=2)]
    yield save("matrix_on_the_left", left, {"w": floats(random.normal(size=(1, 2, 3))), "i": integers([1])}, [1, 3, 2])

    column = [
        make_node("Sub", ["x", "m"], ["a"]),
        make_node("MatMul", ["w", "a"], ["b"]),
        make_node("Relu", ["b"], ["y"]),
    ]
    constants = {"m": floats(random.normal(size=(4, 1))), "w": floats(random.normal(size=(2, 4)))}
    yield save("column_minus_mean", column, constants, [4, 1])

    channels = [
        make_node("Sub", ["x", "m"], ["a"]),
        make_node("Unsqueeze", ["a", "z"], ["b"]),
        make_node("Conv", ["b", "k"], ["c"]),
        make_node("Relu", ["c"], ["y"]),
    ]
    means = floats(np.array([0.1, 0.2, 0.3]).reshape(3, 1, 1))
    constants = {"m": means, "z": integers([0]), "k": floats(random.normal(size=(2, 3, 2, 2)))}
    yield save("channels_first", channels, constants, [3, 3, 3])

    mean = [
        make_node("ReduceMean", ["x"], ["m"], keepdims=1),
        make_node("Sub", ["x", "m"], ["a"]),
        make_node("Relu", ["a"], ["y"]),
    ]
    yield save("mean_of_all", mean, {}, [4, 3])


def sizes():
    """Graphs whose constants repeat the size of the batch."""
    largest = [make_node("Max", ["x", "c"], ["y"])]
    yield save("batch_in_a_constant", largest, {"c": floats(np.tile([[0.1, -0.2, 0.3]], (4, 1)))}, [4, 3])

    how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    resize = [make_node("Resize", ["x", "", "", "s"], ["y"], **how)]
    yield save("batch_in_a_size", resize, {"s": integers([2, 1, 4])}, [2, 1, 2])


def graphs(random):
    a, b = random.normal(size=(2, 2)), random.normal(size=(2, 2))
    three = [
        make_node("MatMul", ["x", "A"], ["a"]),
        make_node("MatMul", ["x", "B"], ["b"]),
        make_node("Sum", ["a", "b", "x"], ["y"]),
    ]
    yield save("sum_of_three", three, {"A": a, "B": b}, [1, 2], kind=TensorProto.DOUBLE)
    yield switches_after_constants()
    yield from mixing(random)
    yield from sizes()


def cases(name, random):
    """Inputs and what onnxruntime makes of them."""
    session = onnxruntime.InferenceSession(FOLDER / f"{name}.onnx", providers=["CPUExecutionProvider"])
    (value,) = session.get_inputs()
    for _ in range(6):
        x = random.standard_normal(value.shape).astype(np.float64 if "double" in value.type else np.float32)
        (y,) = session.run(["y"], {"x": x})
        yield {"input": [float(v) for v in x.flat], "output": [float(v) for v in y.flat]}


if __name__ == "__main__":
    outputs, random = json.loads((FOLDER / "outputs.json").read_text()), np.random.default_rng(5)
    for name in list(graphs(np.random.default_rng(0))):
        outputs[f"{name}.onnx"] = list(cases(name, random))
    lines = [f"  {json.dumps(name)}: {json.dumps(outputs[name])}" for name in sorted(outputs)]
    (FOLDER / "outputs.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
