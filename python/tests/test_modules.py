"""PyTorch modules of all kinds against PyTorch itself."""

from __future__ import annotations

import numpy as np
import pytest

import fiberscope as fs

torch = pytest.importorskip("torch", reason="torch is not installed")
nn, F = torch.nn, torch.nn.functional


def settled(module):
    """Random numbers in what training would have filled."""
    for each in module.modules():
        if isinstance(each, nn.modules.batchnorm._NormBase) and each.running_var is not None:
            each.running_mean.uniform_(-1, 1)
            each.running_var.uniform_(0.5, 2)
    return module.eval()


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(2, 3, 3, padding=1, bias=False), nn.BatchNorm2d(3)
        self.conv2, self.bn2 = nn.Conv2d(3, 3, 3, padding=1), nn.BatchNorm2d(3, affine=False)
        self.shortcut = nn.Conv2d(2, 3, 1)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class Resnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.3, 0.4]).view(1, 2, 1, 1))
        self.register_buffer("std", torch.tensor([0.2, 0.5]).view(1, 2, 1, 1))
        self.layer1 = nn.Sequential(Residual())
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(3, 4)

    def forward(self, x):
        x = self.layer1((x - self.mean) / self.std)
        return torch.softmax(self.fc(torch.flatten(self.pool(x), 1)), dim=1)


class Handy(nn.Module):
    """Views, slices, joins, clamps, and the same weight twice."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)
        self.second.weight = self.first.weight
        self.register_buffer("shift", torch.randn(3))

    def forward(self, x):
        x = self.first(x.view(x.size(0), -1)).clamp(-0.5, 0.5)
        x = self.second(x).unsqueeze(1).squeeze(1)
        a, b = x.chunk(2, dim=1)
        a = torch.maximum(a + self.shift, 2 * b - 0.25)
        y = torch.cat([a[:, [2, 0]], b[:, 1:].abs(), x.sum(1, keepdim=True)], dim=1)
        return torch.stack([y, -y], dim=2).transpose(1, 2).reshape(x.size(0), -1)[:, ::3]


class Parametrised(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))

    def forward(self, x):
        return F.leaky_relu(self.linear(x), 0.1)


class Picks(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))

    def forward(self, x):
        return torch.tanh(self.inner(x)), x


class InPlace(nn.Module):
    """A view that is changed changes what it is a view of."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 4)

    def forward(self, x):
        y = self.linear(x)
        y[:, 1:3].relu_()
        y[:, 0] = 2 * y[:, 3] - 1
        y += 1
        return y.mul_(3)


class Written(nn.Module):
    """Functions given as a lambda."""

    def __init__(self, function):
        super().__init__()
        self.function, self.linear = function, nn.Linear(3, 3)

    def forward(self, x):
        return self.function(self.linear(x))


def cases():
    torch.manual_seed(0)
    yield "in place", InPlace(), torch.randn(1, 3)
    yield "where", Written(lambda h: torch.where(h > 0.5, 3 * h - 1, h)), torch.randn(1, 3)
    image = torch.randn(1, 2, 6, 6)
    yield (
        "conv1d",
        nn.Sequential(
            nn.Conv1d(2, 3, 3, stride=2, padding=1), nn.ReLU(), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(6, 2)
        ),
        torch.randn(1, 2, 8),
    )
    yield (
        "conv2d",
        nn.Sequential(
            nn.Conv2d(2, 4, 3, groups=2, dilation=2, padding="same"),
            nn.BatchNorm2d(4),
            nn.ReLU6(),
            nn.AvgPool2d(2, padding=1),
            nn.Flatten(),
            nn.Linear(64, 2),
        ),
        image,
    )
    yield (
        "conv3d",
        nn.Sequential(nn.Conv3d(1, 2, 2), nn.PReLU(2), nn.MaxPool3d(2), nn.Flatten(), nn.Linear(2, 2)),
        torch.randn(1, 1, 3, 3, 3),
    )
    yield (
        "transposed",
        nn.Sequential(
            nn.ConvTranspose2d(2, 2, 3, stride=2, output_padding=1),
            nn.LeakyReLU(0.3),
            nn.AdaptiveMaxPool2d(1),
            nn.Flatten(),
        ),
        image,
    )
    yield (
        "hardtanh",
        nn.Sequential(
            nn.Linear(3, 5),
            nn.Hardtanh(-0.3, 0.7),
            nn.Dropout(0.5),
            nn.Linear(5, 4),
            nn.BatchNorm1d(4),
            nn.PReLU(),
            nn.Linear(4, 2),
        ),
        torch.randn(1, 3),
    )
    yield (
        "pads",
        nn.Sequential(
            nn.ReflectionPad2d(1),
            nn.ZeroPad2d((0, 1, 2, 0)),
            nn.Conv2d(2, 1, 3),
            nn.ReLU(),
            nn.Upsample(scale_factor=2),
            nn.PixelUnshuffle(2),
            nn.Flatten(),
        ),
        image,
    )
    yield (
        "hardsigmoid",
        nn.Sequential(nn.Linear(3, 4), nn.Hardsigmoid(), nn.Linear(4, 2), nn.Softshrink(0.2)),
        torch.randn(1, 3),
    )
    for mode in ("bilinear", "nearest-exact"):
        grown = [nn.Conv2d(2, 1, 3), nn.ReLU(), nn.Upsample(scale_factor=1.5, mode=mode), nn.ReLU()]
        yield f"grown, {mode}", nn.Sequential(*grown, nn.Flatten(), nn.Linear(36, 2)), image
    corners = nn.Upsample(size=(7, 4), mode="bilinear", align_corners=True)
    yield "to corners", nn.Sequential(corners, nn.Upsample(size=(5, 9)), nn.Flatten(), nn.Linear(90, 2)), image
    yield (
        "volume",
        nn.Sequential(nn.Upsample(size=(3, 4, 5), mode="trilinear"), nn.Flatten()),
        torch.randn(1, 1, 2, 3, 2),
    )
    picks = torch.tensor([[2, 0, 2]])
    yield "sums", Written(lambda h: torch.cumsum(h, 1).relu().cumsum(-1).gather(1, picks)), torch.randn(1, 3)
    taken = torch.tensor([True, False, True])
    yield (
        "masked",
        Written(lambda h: torch.cat([h[:, taken], h[[0, 0], [2, 1]].view(1, 2)], 1).relu()),
        torch.randn(1, 3),
    )
    pieces = nn.Sequential(nn.Unfold(2, padding=1, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(128, 2))
    yield "unfolded", pieces, image
    instances = nn.InstanceNorm2d(2, affine=True, track_running_stats=True)
    yield "instances", nn.Sequential(instances, nn.ReLU(), nn.Flatten(), nn.Linear(72, 2)), image
    yield "resnet", Resnet(), image
    yield "handy", Handy(), torch.randn(1, 2, 3)
    sizes = nn.Sequential(nn.AdaptiveAvgPool2d(3), nn.Upsample(scale_factor=2), nn.Flatten(), nn.Linear(72, 2))
    yield "sizes", sizes, torch.randn(1, 2, 4, 4)
    yield "parametrised", Parametrised(), torch.randn(1, 4)
    yield "unbatched", nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), torch.randn(3)


CASES = list(cases())


def compare(net, module, example, count=20):
    """The outputs at random points, one at a time, as PyTorch computes them in double precision."""
    torch.manual_seed(1)
    points = 2 * torch.randn(count, *example.shape, dtype=example.dtype)
    with torch.no_grad():
        theirs = torch.stack([module(x).flatten() for x in points]).double().numpy()
    ours = net(points.reshape(count, -1).double().numpy())
    eps = 1e-4 if example.dtype == torch.float32 else 1e-10
    assert ours.shape == theirs.shape
    assert np.allclose(ours, theirs, rtol=eps, atol=eps * max(1.0, np.abs(theirs).max()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("case", CASES, ids=[name for name, _, _ in CASES])
def test_modules_compute_what_pytorch_computes(case, dtype):
    name, module, example = case
    module, example = settled(module).to(dtype), example.to(dtype)
    net = fs.from_torch(module, example)
    # The final softmax is set aside: the outputs are the logits.
    heads = nn.Sequential(module)
    if name == "resnet":
        assert any("set aside" in note for note in net.notes)
        compare_logits(net, module, example)
    else:
        compare(net, heads, example)
    assert net.precision == ("f32" if dtype == torch.float32 else "f64")
    module.train()
    assert fs.from_torch(module, example) == net and module.training


def compare_logits(net, module, example):
    points = torch.randn(10, *example.shape[1:], dtype=example.dtype)
    with torch.no_grad():
        theirs = module.eval()(points).double()
    ours = torch.softmax(torch.from_numpy(net(points.reshape(10, -1).double().numpy())), 1)
    assert torch.allclose(ours, theirs, atol=1e-5)


def test_neurons_keep_the_names_of_their_modules():
    net = fs.from_torch(settled(Resnet()).float(), torch.randn(1, 2, 6, 6))
    names = [name for layer in net.layer_names for name, _ in layer]
    assert "layer1.0.conv1" in names and "fc" in names
    layer = next(at for at, parts in enumerate(net.layer_names, 1) if parts[0][0] == "layer1.0.conv1")
    assert net.neuron_name(layer, 3 * 36 - 29) == "layer1.0.conv1[2, 1, 0]"
    found = net.info(time_limit=60)
    assert found.data["layer_names"][layer - 1][0]["name"] == "layer1.0.conv1"
    plain = fs.from_torch(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)))
    assert plain.neuron_name(1, 2) == "0[1]" and plain.neuron_name(2, 1) == "2[0]"


def test_wrappers_are_looked_into():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
    net = fs.from_torch(module)
    assert fs.from_torch(torch.compile(module)) == net
    assert fs.from_torch(nn.DataParallel(module)) == net
    with pytest.raises(fs.UnsupportedLayerError, match=r"Linear: weight has a shape and no numbers"):
        fs.from_torch(torch.nn.Linear(3, 2, device="meta"))
    with pytest.raises(fs.UnsupportedLayerError, match="TorchScript"):
        fs.from_torch(torch.jit.trace(module, torch.zeros(1, 3)))


def test_modules_that_stand_twice_are_used_twice():
    torch.manual_seed(0)
    relu, square = nn.ReLU(), nn.Linear(4, 4)
    module = nn.Sequential(nn.Linear(3, 4), relu, square, relu, square, relu, nn.Linear(4, 2)).eval()
    net = fs.from_torch(module)
    assert net.activations == ["relu"] * 3 + ["identity"]
    assert np.allclose(net(np.ones(3)), module(torch.ones(1, 3)).detach().numpy(), rtol=1e-5)
    assert fs.from_torch(nn.DataParallel(module)) == net == fs.from_torch(module, torch.zeros(1, 3))


def test_what_an_instance_does_otherwise_is_heeded():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
    module[1].forward = lambda h: 2 * torch.relu(h)
    net = fs.from_torch(module)
    assert np.allclose(net(np.ones(3)), module(torch.ones(1, 3)).detach().numpy(), rtol=1e-5)


def test_samples_that_are_mixed_are_told_whatever_the_example_is():
    class Centred(nn.Linear):
        def forward(self, x):
            return super().forward(x - x.mean(0, keepdim=True))

    for example in (torch.zeros(4, 3), torch.ones(4, 3), torch.randn(4, 3)):
        net = fs.from_torch(Centred(3, 3).eval(), example)
        assert net.widths[0] == 12 and any("not a batch" in note for note in net.notes)


def test_parameters_may_be_called_like_inputs_and_results():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.x, self.output = nn.Parameter(torch.randn(3, 3)), nn.Parameter(torch.randn(3))
            self.register_buffer("mask", torch.tensor([True, False, True]))

        def forward(self, x):
            return torch.rsub(x @ self.x, self.output * self.mask, alpha=2) * self.mask + x.narrow(1, -3, 3)

    module, example = Named().eval(), torch.randn(1, 3)
    net = fs.from_torch(module, example)
    assert np.allclose(net(example[0].numpy()), module(example)[0].detach().numpy(), rtol=1e-5, atol=1e-6)


def test_answers_say_which_heads_they_leave_out():
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    a, b = (
        fs.from_torch(plain, torch.zeros(1, 2)),
        fs.from_torch(nn.Sequential(plain, nn.Softmax(-1)), torch.zeros(1, 2)),
    )
    found = fs.equiv(a, b)
    assert found.verdict == "equivalent" and list(found.data["set_aside"]) == [b.name]
    assert f"{b.name} is read up to what stands before node `1` (Softmax), which the answer leaves out" in str(found)
    assert "set_aside" not in fs.equiv(a, a).data
    assert "(Softmax) of" in str(b.regions(box=(-1, 1), count_only=True))


def test_a_batch_is_no_input():
    module = settled(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3)))
    one = fs.from_torch(module, torch.randn(1, 1, 4, 4))
    many = fs.from_torch(module, torch.randn(16, 1, 4, 4))
    assert one == many and one.widths[0] == 16
    assert any("16 samples" in note for note in many.notes)


def test_a_layer_may_be_asked_for():
    module = Picks().eval()
    with pytest.raises(
        fs.UnsupportedLayerError, match=r"returns 2 tensors, result\.0, result\.1; name the one that is meant"
    ):
        fs.from_torch(module)
    net = fs.from_torch(module, torch.zeros(1, 4), output="inner")
    x = torch.randn(5, 4)
    assert np.allclose(net(x.numpy()), module.inner(x).detach().numpy(), atol=1e-5)
    with pytest.raises(fs.ArgumentError, match="expected a layer of the module, such as inner, inner.0"):
        fs.from_torch(module, torch.zeros(1, 4), output="outer")


def test_tracing_without_export_gives_the_same(monkeypatch):
    module, example = settled(Resnet()).float(), torch.randn(1, 2, 6, 6)
    net = fs.from_torch(module, example)

    def fails(*_, **__):
        raise RuntimeError("no export")

    monkeypatch.setattr(torch.export, "export", fails)
    assert np.allclose(fs.from_torch(module, example)(np.ones(72)), net(np.ones(72)), rtol=1e-6)


@pytest.mark.parametrize(
    "module, example, sentence",
    [
        (nn.LSTM(3, 2), torch.zeros(1, 2, 3), "lstm"),
        (nn.Sequential(nn.Linear(3, 3), nn.GELU(), nn.Linear(3, 1)), torch.zeros(1, 3), r"layer `1` \(Gelu\)"),
        (nn.Sequential(nn.BatchNorm1d(3, track_running_stats=False)), torch.zeros(2, 3), r"layer 0 \(BatchNorm1d\).*running statistics"),
        (nn.Embedding(4, 2), torch.zeros(1, dtype=torch.long), "expected floating-point numbers"),
        (nn.Sequential(nn.Linear(3, 3), nn.Threshold(0.1, 20)), torch.zeros(1, 3), "it jumps"),
        (nn.Linear(3, 2), torch.zeros(1, 4), "cannot be traced with inputs of shapes"),
        (Written(lambda h: h + torch.randn(1, 3)), torch.zeros(1, 3), "randn: its numbers are random"),
        (Written(lambda h: h + torch.rand_like(h)), torch.zeros(1, 3), "operator rand_like"),
        (Written(lambda h: h.max(dim=1)[1]), torch.zeros(1, 3), "places"),
        (Written(lambda h: torch.where(h > 0, h + 1, h)), torch.zeros(1, 3), "jumps"),
        (Written(lambda h: h * (h > 0)), torch.zeros(1, 3), "Mul"),
        (Written(lambda h: h + torch.where(h > 0)[0].sum()), torch.zeros(1, 3), "."),
        (Written(lambda h: h.view(torch.int32).to(torch.float32)), torch.zeros(1, 3), "bits of numbers"),
        (Written(lambda h: torch.take(h, (h[0] > 0).long())), torch.zeros(1, 3), "."),
        (nn.Bilinear(3, 3, 2), (torch.zeros(1, 3), torch.zeros(1, 3)), "."),
    ],
)  # fmt: skip
def test_what_is_no_relu_network_is_refused(module, example, sentence):
    with pytest.raises(fs.UnsupportedLayerError, match=f"(?s){sentence}"):
        fs.from_torch(module, example)


def test_wrong_examples_are_refused():
    module = nn.Linear(3, 2)
    for example, sentence in [("x", "expected a tensor"), ((), "empty tuple"), (torch.zeros(0, 3), "it is empty")]:
        with pytest.raises(fs.ArgumentError, match=sentence):
            fs.from_torch(module, example)


def test_modules_in_half_precision_come_back_in_it():
    for dtype, name in [(torch.bfloat16, "bf16"), (torch.float16, "f16")]:
        module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).to(dtype)
        net = fs.from_torch(module)
        assert net.precision == name
        back = net.to_torch()
        assert back[0].weight.dtype == dtype and torch.equal(back[0].weight, module[0].weight)


@pytest.mark.parametrize("dynamo", [False, True], ids=["torchscript", "dynamo"])
@pytest.mark.parametrize("name", ["conv2d", "resnet", "handy", "sizes"])
def test_exports_to_onnx_read_as_the_module(name, dynamo, tmp_path):
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    if name == "sizes" and not dynamo:
        pytest.skip("the older exporter does not write adaptive pools of any size")
    module, example = next((m, x) for n, m, x in CASES if n == name)
    module, example = settled(module).float(), example.float()
    path = tmp_path / "model.onnx"
    torch.onnx.export(module, (example,), str(path), dynamo=dynamo)
    net, ours = fs.load(path), fs.from_torch(module, example)
    points = np.random.default_rng(0).normal(size=(20, ours.widths[0]))
    assert np.allclose(net(points), ours(points), rtol=1e-4, atol=1e-4)


def test_constants_of_the_size_of_the_batch_are_those_of_a_sample(tmp_path):
    module = Written(lambda h: torch.max(h, torch.zeros_like(h) + 0.25)).eval()
    for batch in (2, 3):
        torch.onnx.export(module, (torch.randn(batch, 3),), str(tmp_path / "model.onnx"), dynamo=False)
        net, points = fs.load(tmp_path / "model.onnx"), torch.randn(20, 3)
        assert (net.widths[0], net.widths[-1]) == (3, 3)
        with torch.no_grad():
            assert np.allclose(net(points.numpy().astype(float)), module(points), atol=1e-5)


def test_whole_modules_are_refused_with_what_to_save(tmp_path):
    torch.save(nn.Sequential(nn.Linear(3, 2)), tmp_path / "whole.pt")
    with pytest.raises(fs.ModelFileError, match=r"(?s)holds a whole module.*torch.load\(path.*torch.onnx.export"):
        fs.load(tmp_path / "whole.pt")


def test_refusals_speak_of_arguments_and_not_of_flags(tmp_path):
    module = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    with pytest.raises(fs.UnsupportedLayerError) as refused:
        fs.from_torch(module, torch.zeros(1, 3))
    assert str(refused.value).endswith(
        "layer `1` (Tanh): this operator is not piecewise linear; `output=` names a layer up to which the module is read"
    )
    assert fs.from_torch(module, torch.zeros(1, 3), output="0").widths == [3, 3]
    both = Written(lambda h: h * (h + 1))
    with pytest.raises(fs.UnsupportedLayerError) as refused:
        fs.from_torch(both, torch.zeros(1, 3))
    assert "--" not in str(refused.value) and "`output=` names a layer" in str(refused.value)
    file = tmp_path / "model.onnx"
    pytest.importorskip("onnx", reason="onnx is not installed")
    torch.onnx.export(module, torch.zeros(1, 3), str(file), dynamo=False, verbose=False)
    with pytest.raises(fs.ModelFileError) as refused:
        fs.load(file)
    assert '(output="/0/Gemm_output_0")' in str(refused.value) and "--" not in str(refused.value)
    assert fs.load(file, output="/0/Gemm_output_0").widths == [3, 3]
