"""Makes the ONNX files of this folder that are not from elsewhere, and outputs.json.

Run with torch 2.15, onnx 1.23, onnxscript 0.7, onnxruntime 1.31, scikit-learn 1.9 and skl2onnx 1.20:

    python make_graphs.py

Every file comes with random inputs and what onnxruntime makes of them; for files with a head (Softmax and the
like) with the values before it.
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
# Files whose questions are about a value before a head: its name is found behind the operator of the head.
HEADS = {"Softmax", "LogSoftmax", "ArgMax", "ZipMap"}


def export(name, module, shape, dynamo=False, external=False):
    module = module.eval()
    path = str(FOLDER / f"{name}.onnx")
    arguments = tuple(torch.randn(s) for s in shape) if isinstance(shape, list) else (torch.randn(shape),)
    torch.onnx.export(module, arguments, path, dynamo=dynamo, external_data=external, verbose=False)
    if dynamo:
        model = onnx.load(path, load_external_data=False)
        # The exporter's notes hold paths of the machine it ran on.
        for node in model.graph.node:
            del node.metadata_props[:]
            node.doc_string = ""
        for value in list(model.graph.value_info) + list(model.graph.input) + list(model.graph.output):
            del value.metadata_props[:]
        del model.graph.metadata_props[:]
        del model.metadata_props[:]
        pathlib.Path(path).write_bytes(model.SerializeToString())


class Residual(nn.Module):
    """Two blocks with a way around each."""

    def __init__(self):
        super().__init__()
        self.first, self.one, self.two, self.last = (nn.Linear(*s) for s in [(3, 6), (6, 6), (6, 6), (6, 2)])

    def forward(self, x):
        h = torch.relu(self.first(x))
        h = torch.relu(self.one(h) + h)
        return self.last(h - torch.relu(self.two(h)))


class Branches(nn.Module):
    """Branches of different depth, put side by side, and one that passes everything."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.last = (nn.Linear(*s) for s in [(3, 4), (4, 2), (3, 5), (10, 2)])

    def forward(self, x):
        deep = torch.relu(self.b(torch.relu(self.a(x))))
        return self.last(torch.cat([deep, torch.relu(self.c(x)), x], dim=1))


class Image(nn.Module):
    """A small residual network of convolutions with batch normalisation."""

    def __init__(self):
        super().__init__()
        self.stem, self.conv = nn.Conv2d(1, 3, 3, padding=1), nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.norm, self.short = nn.BatchNorm2d(4), nn.Conv2d(3, 4, 1, stride=2)
        self.last = nn.Linear(4, 2)
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 2.0)

    def forward(self, x):
        h = torch.relu(self.stem(x))
        h = torch.relu(self.norm(self.conv(h)) + self.short(h))
        return self.last(h.mean(dim=(2, 3)))


class Bends(nn.Module):
    """Every bend that is made of ReLUs."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 8), nn.Linear(8, 2)
        self.slopes = nn.PReLU(8)
        nn.init.normal_(self.slopes.weight)

    def forward(self, x):
        h = self.first(x)
        a, b = torch.split(self.slopes(h), 4, dim=1)
        c = torch.clamp(torch.maximum(a, b), max=0.75) - torch.abs(torch.minimum(a, 0.5 * b))
        d = nn.functional.relu6(10 * c) + nn.functional.hardtanh(c) + nn.functional.leaky_relu(c, 0.1)
        return self.last(torch.cat([torch.clamp(d, min=-0.3), nn.functional.hardsigmoid(d)], dim=1))


class Rearranged(nn.Module):
    """Slices, reflections, turned axes and sums."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        y = nn.functional.pad(x, (1, 1, 0, 2), mode="reflect")[:, :, 1:5:2, :].transpose(1, 2)
        z = nn.functional.pad(x, (1, 0), value=0.5).flip(3)[:, :, :2, :4].permute(0, 2, 1, 3)
        h = torch.relu(y[..., [0, 3, 2, 2]] - z)
        return self.last(h.sum(dim=1).reshape(x.shape[0], -1).view(-1, 8))


class Pools(nn.Module):
    """Maxima over windows, before and after a ReLU."""

    def __init__(self):
        super().__init__()
        self.conv, self.last = nn.Conv2d(1, 2, 2), nn.Linear(8, 2)
        self.up = nn.ConvTranspose2d(2, 2, 2, stride=2, padding=1, output_padding=1)

    def forward(self, x):
        h = nn.functional.max_pool2d(torch.relu(self.conv(x)), 2, ceil_mode=True)
        h = nn.functional.max_pool2d(self.up(h), 3, stride=2, padding=1)
        return self.last(torch.relu(h).flatten(1)[:, :8])


class Batch(nn.Module):
    """A shape that was written down with the batch."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.last(torch.relu(self.first(x.view(2, 4))))


class Inputs(nn.Module):
    """Two inputs, of different shapes."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.last = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x, y):
        return self.last(torch.relu(self.a(x) + self.b(y.flatten(1))))


class Centred(nn.Module):
    """The network minus its value at 0, as controllers are written: constants pass through layers."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))

    def forward(self, x):
        return self.net(x) - self.net(torch.zeros(1, 3))


def with_torch():
    for suffix, dynamo in [("", False), ("_dynamo", True)]:
        export(f"residual{suffix}", Residual(), (1, 3), dynamo)
        export(f"branches{suffix}", Branches(), (1, 3), dynamo)
        export(f"image{suffix}", Image(), (1, 1, 6, 6), dynamo)
        export(f"bends{suffix}", Bends(), (1, 3), dynamo)
        export(f"rearranged{suffix}", Rearranged(), (1, 2, 4, 4), dynamo)
        export(f"pools{suffix}", Pools(), (1, 1, 6, 6), dynamo)
        export(f"batch_of_two{suffix}", Batch(), (2, 4), dynamo)
        export(f"inputs{suffix}", Inputs(), [(1, 3), (1, 2, 2)], dynamo)
        head = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3), nn.Softmax(dim=1))
        export(f"softmax{suffix}", head, (1, 3), dynamo)
        export(f"centred{suffix}", Centred(), (1, 3), dynamo)
    export("external", nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), (1, 3), True, True)


def with_sklearn(random):
    from skl2onnx import to_onnx
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = random.standard_normal((60, 4)).astype(np.float32) * 3 + 1
    labels = (x[:, 0] > x[:, 1]).astype(int) + (x[:, 2] > 2)
    regressor = make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(5,), max_iter=50, random_state=0))
    classifier = make_pipeline(StandardScaler(), MLPClassifier(hidden_layer_sizes=(5, 4), max_iter=50, random_state=0))
    for name, model, y in [("sklearn_regressor", regressor, x[:, 0] * x[:, 1]), ("sklearn_classifier", classifier, labels)]:
        onnx_model = to_onnx(model.fit(x, y), x[:1])
        (FOLDER / f"{name}.onnx").write_bytes(onnx_model.SerializeToString())


def with_helper(random):
    def tensor(name, *shape):
        return numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)

    make = helper.make_node
    nodes = [
        make("MatMul", ["h", "w2"], ["y"]), make("Relu", ["a"], ["h"]), make("MatMul", ["x", "w1"], ["a"]),
    ]
    graph = helper.make_graph(
        nodes, "unsorted", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])], [tensor("w1", 3, 4), tensor("w2", 4, 2)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    # The nodes of a valid file are sorted; this one is for readers.
    (FOLDER / "unsorted.onnx").write_bytes(model.SerializeToString())


def sorted_model(model):
    """The model with its nodes in order, as onnxruntime wants them."""
    made, nodes, left = {i.name for i in model.graph.input} | {t.name for t in model.graph.initializer}, [], list(model.graph.node)
    while left:
        ready = [node for node in left if all(name in made or not name for name in node.input)]
        for node in ready:
            made.update(node.output)
            left.remove(node)
        nodes += ready
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def before_head(model):
    """The name of the value that the questions are about."""
    makers = {name: node for node in model.graph.node for name in node.output}
    name = model.graph.output[-1].name
    found, step = name, makers.get(name)
    while step is not None and (step.op_type in HEADS or step.op_type in {"Cast", "Reshape", "Identity"}):
        if step.op_type in HEADS:
            found = step.input[0]
        step = makers.get(step.input[0])
    return found


def outputs(random):
    results = {}
    for path in sorted(FOLDER.glob("*.onnx")):
        model = sorted_model(onnx.load(path))
        if any(node.op_type == "Elu" for node in model.graph.node):
            continue
        name = before_head(model)
        if name != model.graph.output[-1].name:
            model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        cases = []
        for _ in range(6):
            feed = {}
            for value in session.get_inputs():
                shape = [dim if isinstance(dim, int) else 1 for dim in value.shape]
                feed[value.name] = random.standard_normal(shape).astype(np.float32)
            (y,) = session.run([name], feed)
            x = [float(v) for part in feed.values() for v in part.flat]
            cases.append({"input": x, "output": [float(v) for v in y.flat]})
        results[path.name] = cases
    lines = [f'  {json.dumps(name)}: {json.dumps(cases)}' for name, cases in results.items()]
    (FOLDER / "outputs.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    torch.manual_seed(0)
    with_torch()
    with_sklearn(np.random.default_rng(3))
    with_helper(np.random.default_rng(1))
    outputs(np.random.default_rng(2))
