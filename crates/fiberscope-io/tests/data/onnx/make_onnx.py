"""Makes the ONNX files of this folder and outputs.json.

Run with torch 2.15, onnx 1.23, onnxscript 0.7 and onnxruntime 1.31:

    python make_onnx.py

Every file comes with random inputs and what onnxruntime makes of them, so that the reader can be
compared with it without Python.
"""

import json
import pathlib

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

FOLDER = pathlib.Path(__file__).parent


def export(name, module, shape, dynamo=False, dtype=torch.float32):
    module = module.to(dtype).eval()
    arguments = (torch.randn(shape, dtype=dtype),)
    path = str(FOLDER / f"{name}.onnx")
    if dynamo:
        batch = torch.export.Dim("batch")
        torch.onnx.export(module, arguments, path, dynamo=True, external_data=False, verbose=False,
                          dynamic_shapes=({0: batch},))
        model = onnx.load(path)
        # The exporter's notes hold paths of the machine it ran on.
        for node in model.graph.node:
            del node.metadata_props[:]
            node.doc_string = ""
        for value in list(model.graph.value_info) + list(model.graph.input) + list(model.graph.output):
            del value.metadata_props[:]
        del model.graph.metadata_props[:]
        del model.metadata_props[:]
        onnx.save_model(model, path)
    else:
        torch.onnx.export(module, arguments, path, dynamo=False, input_names=["input"], output_names=["output"],
                          dynamic_axes={"input": {0: "batch"}, "output": {0: "batch"}})


def trained(module, shape):
    """Gives batch normalisation statistics and parameters other than 0 and 1."""
    module.train()
    for _ in range(5):
        module(3 * torch.randn((16, *shape[1:])) + 1)
    for layer in module.modules():
        if isinstance(layer, (nn.BatchNorm1d, nn.BatchNorm2d)):
            nn.init.normal_(layer.weight)
            nn.init.normal_(layer.bias)
    return module.eval()


class Column(nn.Module):
    """Multiplies columns from the left, as some tools do."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Parameter(torch.randn(6, 4)), nn.Parameter(torch.randn(2, 6))

    def forward(self, x):
        return self.second @ torch.relu(self.first @ x)


def with_torch():
    mlp = nn.Sequential(nn.Linear(4, 7), nn.ReLU(), nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 3))
    export("torch_mlp", mlp, (1, 4))
    export("torch_mlp_dynamo", mlp, (2, 4), dynamo=True)
    export("torch_double", nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)), (1, 3), dtype=torch.float64)
    no_bias = nn.Sequential(nn.Linear(3, 6, bias=False), nn.ReLU(), nn.Linear(6, 2, bias=False))
    export("torch_no_bias", no_bias, (1, 3))
    export("torch_no_bias_dynamo", no_bias, (2, 3), dynamo=True)
    final_relu = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(), nn.Linear(4, 3), nn.ReLU())
    export("torch_final_relu", final_relu, (1, 3))
    export("torch_flatten", nn.Sequential(nn.Flatten(), nn.Linear(12, 5), nn.ReLU(), nn.Linear(5, 2)), (1, 3, 2, 2))
    norm = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 6), nn.ReLU(), nn.BatchNorm1d(6), nn.Linear(6, 3))
    export("torch_batch_norm", trained(norm, (1, 4)), (1, 4))
    conv = nn.Sequential(
        nn.Conv2d(2, 4, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2), nn.ReLU(),
        nn.BatchNorm2d(4), nn.Conv2d(4, 3, 2, bias=False), nn.ReLU(), nn.AvgPool2d(2, stride=1, padding=1),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 2))
    export("torch_conv", trained(conv, (1, 2, 6, 5)), (1, 2, 6, 5))
    plain = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(16, 2))
    export("torch_conv_dynamo", trained(plain, (1, 1, 4, 6)), (2, 1, 4, 6), dynamo=True)
    conv1d = nn.Sequential(nn.Conv1d(1, 2, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(14, 2))
    export("torch_conv1d", conv1d, (1, 1, 7))
    torch.onnx.export(Column().eval(), (torch.randn(4, 1),), str(FOLDER / "torch_column.onnx"), dynamo=False)


def save(name, nodes, initializers, input_shape, output_shape, element=TensorProto.FLOAT, opset=13):
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info("x", element, input_shape)],
        [helper.make_tensor_value_info("y", element, output_shape)], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)
    onnx.checker.check_model(model)
    onnx.save_model(model, str(FOLDER / f"{name}.onnx"))


def with_helper(random):
    def tensor(name, *shape, dtype=np.float32, positive=False):
        values = random.standard_normal(shape).astype(dtype)
        return numpy_helper.from_array(np.abs(values) + dtype(0.5) if positive else values, name)

    make = helper.make_node
    save("helper_matmul_add", [
        make("MatMul", ["x", "w1"], ["a"]), make("Add", ["b1", "a"], ["b"]), make("Relu", ["b"], ["c"]),
        make("MatMul", ["c", "w2"], ["d"]), make("Add", ["d", "b2"], ["y"]),
    ], [tensor("w1", 3, 5), tensor("b1", 5), tensor("w2", 5, 2), tensor("b2", 1, 2)], ["batch", 3], ["batch", 2])
    save("helper_normalised", [
        make("Sub", ["x", "mean"], ["a"], name="centre"), make("Div", ["a", "deviation"], ["b"], name="reduce"),
        make("Gemm", ["b", "w1", "b1"], ["c"], alpha=0.3, beta=1.7), make("Relu", ["c"], ["d"]),
        make("Mul", ["d", "gain"], ["e"]), make("Sub", ["one", "e"], ["f"]), make("Gemm", ["f", "w2"], ["g"], transB=1),
        make("Mul", ["two", "g"], ["h"]), make("Add", ["h", "offset"], ["y"]),
    ], [tensor("mean", 3), tensor("deviation", 1, 3, positive=True), tensor("w1", 3, 4), tensor("b1", 1, 1),
        tensor("gain", 4), numpy_helper.from_array(np.float32([1.0]), "one"), tensor("w2", 2, 4),
        numpy_helper.from_array(np.float32(2.0), "two"), tensor("offset", 2)], [1, 3], [1, 2])
    save("helper_constants", [
        make("Constant", [], ["w"], value=tensor("", 4, 3)), make("Transpose", ["w"], ["v"]),
        make("Constant", [], ["s"], value=numpy_helper.from_array(np.int64([2, 2, 3]))), make("Identity", ["v"], ["u"]),
        make("Constant", [], ["half"], value_float=0.5), make("Cast", ["wide"], ["narrow"], to=TensorProto.FLOAT),
        make("Squeeze", ["narrow", "axis"], ["bias"]), make("MatMul", ["x", "u"], ["a"]), make("Add", ["a", "bias"], ["b"]),
        make("Relu", ["b"], ["c"]), make("Relu", ["c"], ["d"]), make("Mul", ["d", "half"], ["e"]),
        make("Reshape", ["e", "square"], ["f"]), make("Transpose", ["f"], ["g"], perm=[0, 2, 1]),
        make("Add", ["g", "bottom"], ["h"]), make("Unsqueeze", ["h", "axis"], ["i"]), make("Flatten", ["i"], ["j"]),
        make("Relu", ["j"], ["k"]), make("MatMul", ["k", "w2"], ["l"]), make("MatMul", ["l", "w3"], ["y"]),
    ], [tensor("wide", 1, 4, dtype=np.float64), numpy_helper.from_array(np.int64([0]), "axis"),
        numpy_helper.from_array(np.int64([-1, 2, 2]), "square"), tensor("bottom", 2, 1), tensor("w2", 4, 2),
        tensor("w3", 2, 2)], [1, 3], [1, 2])
    save("helper_relu_first", [
        make("Relu", ["x"], ["a"]), make("MatMul", ["a", "w1"], ["b"]), make("Relu", ["b"], ["y"]),
    ], [tensor("w1", 3, 2)], [3], [2])
    save("helper_same_padding", [
        make("Conv", ["x", "k1", "b1"], ["a"], auto_pad="SAME_UPPER", strides=[2, 2]), make("Relu", ["a"], ["b"]),
        make("Conv", ["b", "k2"], ["c"], auto_pad="SAME_LOWER"), make("Relu", ["c"], ["d"]),
        make("AveragePool", ["d"], ["e"], kernel_shape=[2, 2], pads=[1, 1, 0, 0], count_include_pad=1),
        make("Flatten", ["e"], ["y"]),
    ], [tensor("k1", 2, 1, 3, 2), tensor("b1", 2), tensor("k2", 1, 2, 2, 2)], [1, 1, 5, 4], [1, 6])
    save("helper_rows", [
        make("MatMul", ["x", "w1"], ["a"]), make("Add", ["a", "b1"], ["b"]), make("Relu", ["b"], ["c"]),
        make("Reshape", ["c", "flat"], ["d"]), make("MatMul", ["w2", "d"], ["y"]),
    ], [tensor("w1", 2, 3), tensor("b1", 3), numpy_helper.from_array(np.int64([12]), "flat"), tensor("w2", 2, 12)],
        [1, 4, 2], [2])
    save("helper_half", [
        make("MatMul", ["x", "w1"], ["a"]), make("Add", ["a", "b1"], ["b"]), make("Relu", ["b"], ["c"]),
        make("MatMul", ["c", "w2"], ["y"]),
    ], [tensor("w1", 3, 4, dtype=np.float16),
        helper.make_tensor("b1", TensorProto.FLOAT16, [4], np.float16([0.5, -1.25, 0.0, 3.0])),
        tensor("w2", 4, 2, dtype=np.float16)], [1, 3], [1, 2], element=TensorProto.FLOAT16)


def outputs(random):
    results = {}
    types = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
    for path in sorted(FOLDER.glob("*.onnx")):
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        (value,) = session.get_inputs()
        shape = [dim if isinstance(dim, int) else 1 for dim in value.shape]
        cases = []
        for _ in range(8):
            x = random.standard_normal(shape).astype(types[value.type])
            (y,) = session.run(None, {value.name: x})
            cases.append({"input": [float(v) for v in x.flat], "output": [float(v) for v in y.flat]})
        results[path.name] = cases
    lines = [f'  {json.dumps(name)}: {json.dumps(cases)}' for name, cases in results.items()]
    (FOLDER / "outputs.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    torch.manual_seed(0)
    with_torch()
    with_helper(np.random.default_rng(1))
    outputs(np.random.default_rng(2))
