"""Makes graphs whose operators mean something else in old versions of the standard, what onnxruntime writes when it
optimises a graph, and a residual network large enough to be stored by its entries; adds their answers to outputs.json.

Run with onnx 1.23 and onnxruntime 1.31, after make_batches.py:

    python make_versions.py

onnxruntime does not run versions before 7; those answers are computed here, by the rules of their versions.
"""

import json

import numpy as np
import onnxruntime
from make_batches import FOLDER, cases, floats, integers
from onnx import TensorProto, helper, numpy_helper
from onnx.helper import make_node


def save(name, version, nodes, constants, shape):
    """Writes a graph from `x` of that shape to `y`; returns its name."""
    x, y = (helper.make_tensor_value_info(end, TensorProto.FLOAT, dims) for end, dims in [("x", shape), ("y", None)])
    tensors = [numpy_helper.from_array(value, key) for key, value in constants.items()]
    graph = helper.make_graph(nodes, name, [x], [y], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString())
    return name


def later(random):
    """Graphs that onnxruntime runs."""
    image = [1, 2, 5, 5]
    scales = {"s": floats([1, 1, 2, 0.5])}
    yield save("resize_10", 10, [make_node("Resize", ["x", "s"], ["y"], mode="nearest")], scales, image)
    pool = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0, 0, 1, 0], "ceil_mode": 1, "count_include_pad": 1}
    yield save("average_over_the_end", 19, [make_node("AveragePool", ["x"], ["y"], **pool)], {}, image)
    entries = {key: floats(random.standard_normal([2, 3])) for key in "abc"} | {"v": floats(random.random([2, 3]) + 0.1)}
    norm = make_node("BatchNormalization", ["x", "a", "b", "c", "v"], ["y"], spatial=0)
    yield save("norm_of_entries_8", 8, [norm], entries, [1, 2, 3])
    # A shape with the batch in it, behind a convolution.
    nodes = [
        make_node("Conv", ["x", "k"], ["h"]),
        make_node("Resize", ["h", "", "", "to"], ["r"], mode="nearest", nearest_mode="floor"),
        make_node("Relu", ["r"], ["y"]),
    ]
    constants = {"k": floats(random.standard_normal([2, 1, 2, 2])), "to": integers([2, 2, 6, 6])}
    yield save("batch_behind_a_convolution", 18, nodes, constants, [2, 1, 4, 4])


def residual(random):
    """A residual network with a pool, large enough that its layers are stored by their entries."""
    nodes, constants, value = [], {}, "x"

    def convolution(name, inputs, outputs, size, stride, pad, source):
        constants[f"{name}.weight"] = floats(random.standard_normal([outputs, inputs, size, size]) / (2 * size))
        constants[f"{name}.bias"] = floats(random.standard_normal(outputs))
        given = {"kernel_shape": [size] * 2, "strides": [stride] * 2, "pads": [pad] * 4}
        nodes.append(make_node("Conv", [source, f"{name}.weight", f"{name}.bias"], [f"{name}.out"], name=name, **given))
        return f"{name}.out"

    def relu(source):
        nodes.append(make_node("Relu", [source], [f"{source}.relu"]))
        return f"{source}.relu"

    value = relu(convolution("stem", 3, 4, 3, 1, 1, value))
    inner = relu(convolution("block.first", 4, 6, 3, 2, 1, value))
    sums = [convolution("block.second", 6, 6, 3, 1, 1, inner), convolution("block.shortcut", 4, 6, 1, 2, 0, value)]
    nodes.append(make_node("Add", sums, ["block.sum"]))
    nodes.append(make_node("MaxPool", [relu("block.sum")], ["pooled"], kernel_shape=[2, 2], strides=[2, 2]))
    nodes.append(make_node("Flatten", ["pooled"], ["flat"]))
    constants |= {"fc.weight": floats(random.standard_normal([3, 96])), "fc.bias": floats(random.standard_normal(3))}
    nodes.append(make_node("Gemm", ["flat", "fc.weight", "fc.bias"], ["y"], name="fc", transB=1))
    return save("residual_image", 17, nodes, constants, [1, 3, 16, 16])


def normalised_sum(random):
    """A residual block with batch normalisation on both ways."""
    constants = {f"w{at}": floats(random.standard_normal([4, size])) for at, size in [(1, 3), (2, 4), (3, 4)]}
    constants |= {f"{key}{at}": floats(random.random(4) + 0.1) for key in "abcv" for at in (1, 2)}
    constants["w4"] = floats(random.standard_normal([2, 4]))
    nodes = [
        make_node("Gemm", ["x", "w1"], ["h"], transB=1),
        make_node("Relu", ["h"], ["hr"]),
        make_node("Gemm", ["hr", "w2"], ["i"], transB=1),
        make_node("Relu", ["i"], ["ir"]),
        make_node("Gemm", ["ir", "w3"], ["j"], transB=1),
        make_node("BatchNormalization", ["j", "a1", "b1", "c1", "v1"], ["jn"]),
        make_node("BatchNormalization", ["hr", "a2", "b2", "c2", "v2"], ["hn"]),
        make_node("Add", ["jn", "hn"], ["s"]),
        make_node("Relu", ["s"], ["r"]),
        make_node("Gemm", ["r", "w4"], ["y"], transB=1),
    ]
    return save("normalised_sum", 15, nodes, constants, [1, 3])


def optimised(name, made):
    """The same graph as onnxruntime saves it."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(FOLDER / f"{made}.onnx")
    onnxruntime.InferenceSession(FOLDER / f"{name}.onnx", options, providers=["CPUExecutionProvider"])
    return made


def earlier(random):
    """Graphs of version 6, each with the function that it is."""
    shape, slopes = [1, 3, 3, 3], floats([0.5, -0.25, 0.125])
    name = save("slopes_of_channels_6", 6, [make_node("PRelu", ["x", "a"], ["y"])], {"a": slopes}, shape)
    yield name, shape, lambda x: np.where(x > 0, x, x * slopes.reshape(3, 1, 1))
    place = {"axis": 1, "broadcast": 1}
    nodes = [make_node("ReduceMax", ["x"], ["m"], axes=[0, 2, 3], keepdims=0), make_node("Sub", ["x", "m"], ["y"], **place)]
    name = save("values_at_an_axis_6", 6, nodes, {}, shape)
    yield name, shape, lambda x: x - x.max(axis=(0, 2, 3)).reshape(3, 1, 1)
    statistics = {"a": floats([2, 0.5, 1]), "b": floats([0, 1, -1]), "c": floats([1, 0, 2]), "v": floats([3, 0, 8])}
    nodes = [
        make_node("BatchNormalization", ["x", *"abcv"], ["n"], is_test=1, epsilon=1.0),
        make_node("Dropout", ["n"], ["d"], is_test=1),
        make_node("Relu", ["d"], ["y"]),
    ]
    name = save("norm_6", 6, nodes, statistics, shape)
    a, b, c, v = (statistics[key].reshape(3, 1, 1).astype(float) for key in "abcv")
    yield name, shape, lambda x: np.maximum((x - c) / np.sqrt(v + 1) * a + b, 0)


if __name__ == "__main__":
    outputs, random = json.loads((FOLDER / "outputs.json").read_text()), np.random.default_rng(7)
    names = [*later(random), residual(random), normalised_sum(random)]
    names.append(optimised("residual_image", "residual_image_optimised"))
    for name in names:
        outputs[f"{name}.onnx"] = list(cases(name, random))[:2 if "residual" in name else 6]
    for name, shape, function in earlier(random):
        inputs = [random.standard_normal(shape).astype(np.float32) for _ in range(4)]
        outputs[f"{name}.onnx"] = [
            {"input": [float(v) for v in x.flat], "output": [float(v) for v in function(x.astype(float)).flat]} for x in inputs
        ]
    lines = [f"  {json.dumps(name)}: {json.dumps(outputs[name])}" for name in sorted(outputs)]
    (FOLDER / "outputs.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
