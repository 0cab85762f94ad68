"""Files written by `fiberscope convert` mean to onnx and onnxruntime what they should.

The environment variable FIBERSCOPE names the command; run with `pytest test_onnx.py`.
"""

import json
import os
import pathlib
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest

FILES = sorted((pathlib.Path(__file__).parents[1] / "data" / "onnx").glob("*.onnx"))
TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
PRECISIONS = {"f32": np.float32, "f64": np.float64}


def convert(source, target, *options):
    command = [os.environ["FIBERSCOPE"], "convert", str(source), str(target), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def converted(source, target, *options):
    result = convert(source, target, *options)
    assert result.returncode == 0, result.stderr
    onnx.checker.check_model(onnx.load(target), full_check=True)
    return onnxruntime.InferenceSession(str(target), providers=["CPUExecutionProvider"])


def run(session, points):
    """The outputs of a session for each of some points, whatever shape its input has."""
    (value,) = session.get_inputs()
    shape = [size if isinstance(size, int) else 1 for size in value.shape]
    inputs = points.astype(TYPES[value.type])
    return np.stack([session.run(None, {value.name: x.reshape(shape)})[0].ravel() for x in inputs])


def width(session):
    (value,) = session.get_inputs()
    return int(np.prod([size for size in value.shape if isinstance(size, int)]))


def assert_close(found, expected, epsilon):
    scale = max(1.0, float(np.max(np.abs(expected))))
    assert np.max(np.abs(found.astype(np.float64) - expected.astype(np.float64))) <= 64 * epsilon * scale


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("source", FILES, ids=lambda path: path.stem)
def test_converted_files_compute_the_same(source, precision, tmp_path):
    ours = converted(source, tmp_path / "out.onnx", "--precision", precision)
    theirs = onnxruntime.InferenceSession(str(source), providers=["CPUExecutionProvider"])
    (value,), (result,) = ours.get_inputs(), ours.get_outputs()
    assert TYPES[value.type] == TYPES[result.type] == PRECISIONS[precision]
    # Points that every precision holds exactly.
    points = np.random.default_rng(0).standard_normal((20, width(theirs))).astype(np.float16)
    epsilon = max(np.finfo(kind).eps for kind in (TYPES[theirs.get_inputs()[0].type], PRECISIONS[precision]))
    assert_close(run(ours, points), run(theirs, points), epsilon)
    batch = ours.run(None, {value.name: points.astype(PRECISIONS[precision])})[0]
    assert batch.shape == (20, run(theirs, points[:1]).shape[1])
    assert_close(batch, run(ours, points), np.finfo(PRECISIONS[precision]).eps)


def random_network(random, widths):
    shapes = list(zip(widths[1:], widths))
    layers = [
        {"weight": random.standard_normal(shape).tolist(), "bias": random.standard_normal(shape[0]).tolist(),
         "activation": "relu" if at + 1 < len(shapes) else "identity"}
        for at, shape in enumerate(shapes)
    ]
    return {"format": "fiberscope-network", "version": 1, "layers": layers}


def evaluate(network, points):
    for layer in network["layers"]:
        points = points @ np.array(layer["weight"]).T + np.array(layer["bias"])
        if layer["activation"] == "relu":
            points = np.maximum(points, 0)
    return points


def test_a_network_from_json(tmp_path):
    random = np.random.default_rng(1)
    network = random_network(random, [5, 8, 6, 3])
    source = tmp_path / "network.json"
    source.write_text(json.dumps(network))
    session = converted(source, tmp_path / "out.onnx", "--precision", "f64")
    points = random.standard_normal((50, 5))
    assert_close(run(session, points), evaluate(network, points), np.finfo(np.float64).eps)
    # The parameters arrive bit for bit, under the names that the format promises.
    tensors = onnx.load(tmp_path / "out.onnx").graph.initializer
    stored = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in tensors}
    for at, layer in enumerate(network["layers"], start=1):
        assert np.array_equal(stored[f"layer{at}.weight"], np.array(layer["weight"]))
        assert np.array_equal(stored[f"layer{at}.bias"], np.array(layer["bias"]))


def test_the_model_names_its_producer_and_its_batch(tmp_path):
    converted(FILES[0], tmp_path / "out.onnx", "--precision", "f32")
    model = onnx.load(tmp_path / "out.onnx")
    assert model.producer_name == "fiberscope"
    assert {node.op_type for node in model.graph.node} <= {"Gemm", "Relu"}
    for value in [*model.graph.input, *model.graph.output]:
        assert value.type.tensor_type.shape.dim[0].dim_param == "batch"


def test_an_operator_that_is_no_layer_is_named(tmp_path):
    node = onnx.helper.make_node("Tanh", ["x"], ["y"], name="last")
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 3]) for name in "xy"]
    graph = onnx.helper.make_graph([node], "tanh", values[:1], values[1:])
    onnx.save(onnx.helper.make_model(graph), tmp_path / "in.onnx")
    result = convert(tmp_path / "in.onnx", tmp_path / "out.onnx")
    assert result.returncode == 2
    assert "last" in result.stderr and "Tanh" in result.stderr
    assert not (tmp_path / "out.onnx").exists()
