"""Makes graphs whose weights are sums that nodes compute, and exports of PyTorch modules with such weights; adds their
answers by onnxruntime to outputs.json.

Run with onnx 1.23, onnxruntime 1.31 and torch 2.15, after make_versions.py:

    python make_sums.py
"""

import json

import numpy as np
import torch
from make_batches import FOLDER, cases, floats, integers
from make_versions import save
from onnx.helper import make_node
from torch.nn.utils import spectral_norm
from torch.nn.utils.parametrizations import weight_norm


def lengths(random):
    """Rows divided by their lengths, in three spellings, and a matrix that is a product."""
    constants = {"v": floats(random.standard_normal([4, 3])), "g": floats(random.random([4, 1]) + 0.5)}
    constants |= {"axes": integers([1]), "two": floats(2.0), "a": floats(random.standard_normal([2, 5]))}
    constants |= {"b": floats(random.standard_normal([5, 4])), "c": floats(random.standard_normal([4]))}
    nodes = [
        make_node("ReduceL2", ["v", "axes"], ["l"]),
        make_node("Pow", ["v", "two"], ["vv"]),
        make_node("ReduceSum", ["vv", "axes"], ["s"]),
        make_node("Sqrt", ["s"], ["m"]),
        make_node("ReduceSumSquare", ["v", "axes"], ["t"]),
        make_node("Add", ["s", "t"], ["st"]),
        make_node("Div", ["g", "l"], ["gl"]),
        make_node("Mul", ["gl", "v"], ["w"]),
        make_node("ReduceL1", ["w", "axes"], ["n"], keepdims=0),
        make_node("ReduceMean", ["w"], ["mean"], keepdims=0),
        make_node("ReduceMax", ["st"], ["most"], keepdims=0),
        make_node("MatMul", ["a", "b"], ["ab"]),
        make_node("MatMul", ["ab", "c"], ["abc"]),
        make_node("Transpose", ["w"], ["wt"]),
        make_node("MatMul", ["x", "wt"], ["h"]),
        make_node("Mul", ["h", "n"], ["hn"]),
        make_node("Div", ["hn", "most"], ["hm"]),
        make_node("Add", ["hm", "mean"], ["i"]),
        make_node("Relu", ["i"], ["r"]),
        make_node("Gemm", ["r", "ab", "abc"], ["y"], transB=1),
    ]
    return save("lengths", 18, nodes, constants, [1, 3])


def modules():
    """Modules whose weights are normalised when they are called."""
    linear, relu = torch.nn.Linear, torch.nn.ReLU()
    yield "weight_norm", torch.nn.Sequential(weight_norm(linear(3, 5)), relu, weight_norm(linear(5, 2))), [1, 3]
    yield "spectral_norm", torch.nn.Sequential(spectral_norm(linear(3, 5)), relu, spectral_norm(linear(5, 2))), [1, 3]
    convolution = torch.nn.Conv2d(2, 3, 3, padding=1)
    yield "weight_norm_image", torch.nn.Sequential(weight_norm(convolution), relu, torch.nn.Flatten(), linear(48, 2)), [1, 2, 4, 4]


if __name__ == "__main__":
    outputs, random = json.loads((FOLDER / "outputs.json").read_text()), np.random.default_rng(11)
    torch.manual_seed(11)
    names = [lengths(random)]
    for name, module, shape in modules():
        module.eval()
        file = FOLDER / f"{name}.onnx"
        # The exporter of many files that are around leaves what computes the weights in the graph.
        torch.onnx.export(
            module, (torch.zeros(shape),), file, dynamo=False, do_constant_folding=False, input_names=["x"], output_names=["y"]
        )
        names.append(name)
    for name in names:
        outputs[f"{name}.onnx"] = list(cases(name, random))[:4]
    lines = [f"  {json.dumps(name)}: {json.dumps(outputs[name])}" for name in sorted(outputs)]
    (FOLDER / "outputs.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
