"""PyTorch modules as people write them, for `modules.py`: name, module, example input."""

import collections

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune


def conv(i, o, kernel=3, stride=1, **more):
    more = {"padding": kernel // 2, "bias": False} | more
    return [nn.Conv2d(i, o, kernel, stride, **more), nn.BatchNorm2d(o), nn.ReLU(inplace=True)]


class Of(nn.Module):
    """A function of a module and the input: `forward` as a lambda."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            if isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter):
                self.register_buffer(name, part)
            else:
                setattr(self, name, part)

    def forward(self, *given):
        return self.function(self, *given)


# Images.


class Basic(nn.Module):
    def __init__(self, i, o, stride=1):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.relu, self.downsample = nn.ReLU(inplace=True), None
        if stride != 1 or i != o:
            self.downsample = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += identity
        return self.relu(out)


class Bottleneck(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.body = nn.Sequential(*conv(c, 2, 1), *conv(2, 2, groups=2), *conv(2, c, 1)[:2])

    def forward(self, x):
        return F.relu(self.body(x) + x, inplace=True)


class PreActivation(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(i), nn.Conv2d(i, o, 3, stride, 1, bias=False)
        self.bn2, self.conv2 = nn.BatchNorm2d(o), nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.shortcut = nn.Conv2d(i, o, 1, stride, bias=False)

    def forward(self, x):
        out = F.relu(self.bn1(x))
        shortcut = self.shortcut(out)
        return self.conv2(F.relu(self.bn2(self.conv1(out)))) + shortcut


class Resnet(nn.Module):
    def __init__(self, *blocks, width=4, classes=5):
        super().__init__()
        self.conv1, self.bn1, self.relu = nn.Conv2d(3, 4, 3, 1, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(*blocks)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(width, classes)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.avgpool(self.layer1(x))
        return self.fc(torch.flatten(x, 1))


class Vgg(nn.Module):
    def __init__(self, norm):
        super().__init__()
        layers, i = [], 3
        for o in (4, "M", 6, 6, "M"):
            if o == "M":
                layers.append(nn.MaxPool2d(2, 2))
                continue
            layers += [nn.Conv2d(i, o, 3, padding=1), *([nn.BatchNorm2d(o)] if norm else []), nn.ReLU(True)]
            i = o
        self.features, self.avgpool = nn.Sequential(*layers), nn.AdaptiveAvgPool2d((2, 2))
        self.classifier = nn.Sequential(
            nn.Linear(24, 12), nn.ReLU(True), nn.Dropout(), nn.Linear(12, 8), nn.ReLU(True), nn.Dropout(), nn.Linear(8, 5)
        )

    def forward(self, x):
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 5), nn.Conv2d(4, 6, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(6 * 2 * 2, 10), nn.Linear(10, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(-1, self.features(x))
        x = F.dropout(F.relu(self.fc1(x)), training=self.training)
        return F.log_softmax(self.fc2(x), dim=1)

    def features(self, x):
        count = 1
        for size in x.size()[1:]:
            count *= size
        return count


class Inverted(nn.Module):
    def __init__(self, i, o, stride, grow, activation=nn.ReLU6):
        super().__init__()
        hidden = i * grow
        self.use_res_connect = stride == 1 and i == o
        self.conv = nn.Sequential(
            nn.Conv2d(i, hidden, 1, bias=False), nn.BatchNorm2d(hidden), activation(),
            nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden), activation(),
            nn.Conv2d(hidden, o, 1, bias=False), nn.BatchNorm2d(o),
        )  # fmt: skip

    def forward(self, x):
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class Fire(nn.Module):
    def __init__(self, i, s, e):
        super().__init__()
        self.squeeze, self.expand1, self.expand3 = nn.Conv2d(i, s, 1), nn.Conv2d(s, e, 1), nn.Conv2d(s, e, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.expand1(x)), F.relu(self.expand3(x))], 1)


class Shuffle(nn.Module):
    def __init__(self, c):
        super().__init__()
        half = c // 2
        self.branch = nn.Sequential(*conv(half, half, 1), *conv(half, half, groups=half)[:2], *conv(half, half, 1))

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        out = torch.cat((a, self.branch(b)), dim=1)
        n, c, h, w = out.shape
        return out.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, c, h, w)


class Dense(nn.Module):
    def __init__(self, c, grow, count):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(c + at * grow), nn.ReLU(), nn.Conv2d(c + at * grow, grow, 3, padding=1)) for at in range(count)
        )

    def forward(self, x):
        found = [x]
        for layer in self.layers:
            found.append(layer(torch.cat(found, 1)))
        return torch.cat(found, 1)


class Inception(nn.Module):
    def __init__(self, i):
        super().__init__()
        self.a = nn.Conv2d(i, 2, 1)
        self.b = nn.Sequential(nn.Conv2d(i, 2, 1), nn.ReLU(), nn.Conv2d(2, 3, (1, 3), padding=(0, 1)), nn.Conv2d(3, 2, (3, 1), padding=(1, 0)))
        self.c = nn.Sequential(nn.AvgPool2d(3, stride=1, padding=1), nn.Conv2d(i, 2, 1))

    def forward(self, x):
        return F.relu(torch.cat([self.a(x), self.b(x), self.c(x), F.max_pool2d(x, 3, 1, 1)], dim=1))


class Unet(nn.Module):
    def __init__(self, upsample):
        super().__init__()
        self.down1, self.down2 = nn.Sequential(*conv(1, 3)), nn.Sequential(*conv(3, 4))
        up = nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), nn.Conv2d(4, 3, 1))
        self.up = up if upsample else nn.ConvTranspose2d(4, 3, 2, stride=2)
        self.last, self.out = nn.Sequential(*conv(6, 3)), nn.Conv2d(3, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.up(self.down2(F.max_pool2d(a, 2)))
        dy, dx = a.size(2) - b.size(2), a.size(3) - b.size(3)
        b = F.pad(b, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.out(self.last(torch.cat([a, b], dim=1)))


class Causal(nn.Module):
    """A block of a temporal convolutional network."""

    def __init__(self, i, o, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = parametrizations.weight_norm(nn.Conv1d(i, o, 3, padding=self.pad, dilation=dilation))
        self.downsample = nn.Conv1d(i, o, 1) if i != o else None

    def forward(self, x):
        out = F.relu(self.conv(x)[:, :, : -self.pad].contiguous())
        return F.relu(out + (x if self.downsample is None else self.downsample(x)))


class Mixer(nn.Module):
    def __init__(self, tokens, channels, norm):
        super().__init__()
        self.norm = nn.LayerNorm(channels) if norm else nn.Identity()
        self.tokens = nn.Sequential(nn.Linear(tokens, 6), nn.ReLU(), nn.Linear(6, tokens))
        self.channels = nn.Sequential(nn.Linear(channels, 6), nn.ReLU(), nn.Linear(6, channels))

    def forward(self, x):
        x = x + self.tokens(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(x)


class Patches(nn.Module):
    def __init__(self, norm=False):
        super().__init__()
        self.embed, self.mix, self.head = nn.Conv2d(3, 5, 4, stride=4), Mixer(4, 5, norm), nn.Linear(5, 3)

    def forward(self, x):
        return self.head(self.mix(self.embed(x).flatten(2).permute(0, 2, 1)).mean(dim=1))


class Gate(nn.Module):
    """Squeeze and excitation."""

    def __init__(self, c):
        super().__init__()
        self.fc = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, 2, 1), nn.ReLU(), nn.Conv2d(2, c, 1), nn.Hardsigmoid())

    def forward(self, x):
        return x * self.fc(x)


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).transpose(-1, -2)


def changed(module, change):
    change(module)
    return module


def mlp(*widths, last=None, activation=nn.ReLU):
    layers = [each for i, o in zip(widths, widths[1:]) for each in (nn.Linear(i, o), activation())][:-1]
    return nn.Sequential(*layers, *([last] if last else []))


def compiled(module):
    return torch.compile(module, backend="eager")


def hooked(module):
    module[0].register_forward_hook(lambda _, __, out: 2 * out - 1)
    return module


def nested():
    inner = nn.Sequential(collections.OrderedDict(fc=nn.Linear(5, 6), act=nn.ReLU()))
    return nn.Sequential(collections.OrderedDict(stem=nn.Linear(4, 5), body=nn.Sequential(nn.ReLU(), inner), head=nn.Linear(6, 2)))


def lazy():
    module = nn.Sequential(nn.LazyConv2d(3, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(4))
    module(torch.zeros(1, 2, 5, 5))
    return module


def quantised():
    module = nn.Sequential(torch.ao.quantization.QuantStub(), nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2), torch.ao.quantization.DeQuantStub())
    module.qconfig = torch.ao.quantization.get_default_qat_qconfig("fbgemm")
    return torch.ao.quantization.prepare_qat(module.train())


def dueling(m, x):
    h = m.body(x)
    advantage = m.advantage(h)
    return m.value(h) + (advantage - advantage.mean(dim=1, keepdim=True))


def shifted(_, x):
    """The temporal shift of a video network."""
    back, same = x[:, :, :1], x[:, :, 2:]
    back = torch.cat([back[:, 1:], torch.zeros_like(back[:, :1])], dim=1)
    forth = torch.cat([torch.zeros_like(x[:, :1, 1:2]), x[:, :-1, 1:2]], dim=1)
    return F.relu(torch.cat([back, forth, same], dim=2) - 0.1)


def written(_, x):
    y = torch.zeros(x.shape[0], 6)
    y[:, 1:5] = x
    y[:, 0] = x[:, 1].relu()
    y[y < 0.1] = 0.1
    return y


def checkpointed(m, x):
    return m.head(torch.utils.checkpoint.checkpoint(m.body, x, use_reentrant=False))


def rows(*size):
    return torch.randn(1, *size)


def gallery():
    """All of them, always the same."""
    torch.manual_seed(0)
    image, small, vector = rows(3, 8, 8), rows(2, 6, 6), rows(4)
    # Networks for images.
    yield "resnet, basic blocks", Resnet(Basic(4, 4), Basic(4, 6, 2), width=6), image
    yield "resnet, bottlenecks", Resnet(Bottleneck(4), Bottleneck(4)), image
    yield "resnet, activations first", Resnet(PreActivation(4, 4, 1), PreActivation(4, 5, 2), width=5), image
    yield "vgg", Vgg(False), image
    yield "vgg, batch norm", Vgg(True), image
    yield "lenet", LeNet(), rows(1, 12, 12)
    yield "mobilenet v1", nn.Sequential(*conv(3, 4, stride=2), *conv(4, 4, groups=4), *conv(4, 6, 1), nn.AvgPool2d(4), nn.Flatten(), nn.Linear(6, 3)), image
    yield "mobilenet v2", nn.Sequential(*conv(3, 4, stride=2), Inverted(4, 4, 1, 2), Inverted(4, 5, 2, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(5, 3)), image
    yield "mobilenet v3, hardswish", Inverted(3, 3, 1, 2, nn.Hardswish), image
    yield "depth multiplier", nn.Sequential(nn.Conv2d(2, 6, 3, groups=2), nn.ReLU6(), nn.Conv2d(6, 2, 1)), small
    yield "squeezenet", nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.ReLU(), nn.MaxPool2d(2, 1, ceil_mode=True), Fire(4, 2, 3), nn.Conv2d(6, 3, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()), image
    yield "shufflenet", nn.Sequential(nn.Conv2d(3, 4, 1), Shuffle(4), Shuffle(4)), rows(3, 4, 4)
    yield "densenet", nn.Sequential(Dense(2, 2, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 2, 1), nn.AvgPool2d(2, 2)), small
    yield "inception", Inception(2), small
    yield "convnext, hardtanh", nn.Sequential(nn.Conv2d(3, 4, 2, 2), nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.BatchNorm2d(4), nn.Conv2d(4, 8, 1), nn.Hardtanh(), nn.Conv2d(8, 4, 1)), image
    yield "alexnet", nn.Sequential(nn.Conv2d(3, 4, 5, 2, 2), nn.ReLU(True), nn.MaxPool2d(3, 2), nn.Conv2d(4, 5, 3, padding=1), nn.ReLU(True), nn.AdaptiveAvgPool2d((2, 2)), nn.Flatten(), nn.Dropout(), nn.Linear(20, 4)), rows(3, 16, 16)
    yield "u-net", Unet(False), rows(1, 6, 6)
    yield "u-net, odd sizes", Unet(False), rows(1, 7, 5)
    yield "u-net, upsampled", Unet(True), rows(1, 6, 6)
    yield "squeeze and excitation", Gate(2), small
    yield "autoencoder", nn.Sequential(nn.Conv2d(1, 3, 3, 2, 1), nn.ReLU(), nn.ConvTranspose2d(3, 1, 3, 2, 1, output_padding=1), nn.Sigmoid()), rows(1, 6, 6)
    yield "segmentation", Of(lambda m, x: F.interpolate(m.net(x), size=x.shape[-2:], mode="bilinear", align_corners=False), net=nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.ReLU(), nn.Conv2d(4, 2, 1))), image
    yield "super-resolution", nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.ReLU(), nn.Conv2d(3, 4, 3, padding=1), nn.PixelShuffle(2)), rows(1, 5, 5)
    yield "discriminator", nn.Sequential(nn.Conv2d(1, 3, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(3, 1, 3), nn.Flatten(), nn.Sigmoid()), rows(1, 6, 6)
    yield "generator", nn.Sequential(nn.Linear(4, 18), nn.ReLU(), nn.Unflatten(1, (2, 3, 3)), nn.ConvTranspose2d(2, 2, 4, 2, 1), nn.BatchNorm2d(2), nn.ReLU(), nn.ConvTranspose2d(2, 1, 3, groups=1, dilation=2)), vector
    yield "circular padding", nn.Sequential(nn.Conv2d(2, 2, 3, padding=1, padding_mode="circular"), nn.ReLU(), nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect"), nn.ReLU(), nn.Conv2d(2, 1, 3, padding=1, padding_mode="replicate")), small
    yield "pools", nn.Sequential(nn.MaxPool2d(3, 2, 1, ceil_mode=True), nn.AvgPool2d(2, 1, 1, count_include_pad=False), nn.AdaptiveMaxPool2d((2, 3)), nn.Flatten(), nn.Linear(12, 2)), small
    yield "pools, odd", nn.Sequential(nn.MaxPool2d((2, 3), (1, 2), dilation=(2, 1)), nn.AvgPool2d(3, 2, 1, ceil_mode=True, divisor_override=4), nn.AdaptiveAvgPool2d((None, 1))), small
    yield "adaptive pools that do not divide", nn.Sequential(nn.AdaptiveAvgPool2d((4, 5)), nn.ReLU(), nn.AdaptiveMaxPool2d(3)), small
    yield "power pool", nn.LPPool2d(2, 2), small
    yield "unpooled", Of(lambda m, x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)), small
    yield "unfolded", Of(lambda m, x: m.fc(F.unfold(x, 2, stride=2).transpose(1, 2)).relu().sum(1), fc=nn.Linear(8, 3)), small
    yield "normalised image", Of(lambda m, x: m.net((x / 255 - m.mean) / m.std), mean=torch.rand(1, 3, 1, 1), std=torch.rand(3, 1, 1) + 0.5, net=nn.Sequential(nn.Conv2d(3, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 3))), image
    yield "channels last", Of(lambda m, x: m.fc(x.permute(0, 3, 1, 2).contiguous().mean(dim=(2, 3))), fc=nn.Linear(3, 2)), rows(5, 5, 3)
    yield "group norm", nn.Sequential(nn.Conv2d(2, 4, 1), nn.GroupNorm(2, 4), nn.ReLU()), small
    yield "instance norm", nn.Sequential(nn.Conv2d(2, 4, 1), nn.InstanceNorm2d(4), nn.ReLU()), small
    yield "instance norm, running", nn.Sequential(nn.Conv2d(2, 4, 1), nn.InstanceNorm2d(4, affine=True, track_running_stats=True), nn.ReLU()), small
    yield "lazy modules", lazy(), rows(2, 5, 5)
    # Sequences.
    yield "temporal convolutions", nn.Sequential(Causal(2, 3, 1), Causal(3, 3, 2)), rows(2, 9)
    yield "keywords", nn.Sequential(nn.Conv1d(3, 4, 4, stride=2), nn.BatchNorm1d(4), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 3), nn.LogSoftmax(dim=-1)), rows(3, 12)
    yield "conv1d, pooled", Of(lambda m, x: m.fc(F.max_pool1d(F.relu(m.conv(x)), 3).squeeze(-1)), conv=nn.Conv1d(2, 4, 3), fc=nn.Linear(4, 2)), rows(2, 5)
    yield "conv1d, transposed", nn.Sequential(nn.ConvTranspose1d(2, 4, 3, 2, 1, groups=2), nn.ReLU(), nn.Conv1d(4, 1, 1)), rows(2, 5)
    yield "conv3d", nn.Sequential(nn.Conv3d(1, 2, 2, padding=1), nn.BatchNorm3d(2), nn.ReLU(), nn.MaxPool3d(2), nn.AvgPool3d(2, 1), nn.ConvTranspose3d(2, 1, 2)), rows(1, 4, 4, 4)
    yield "text, kim", Of(lambda m, x: m.fc(torch.cat([F.relu(c(x.unsqueeze(1))).squeeze(3).amax(2) for c in m.convs], 1)), convs=nn.ModuleList([nn.Conv2d(1, 2, (k, 4)) for k in (2, 3)]), fc=nn.Linear(4, 2)), rows(6, 4)
    yield "lstm", Of(lambda m, x: m.fc(m.rnn(x)[0][:, -1]), rnn=nn.LSTM(3, 4, batch_first=True), fc=nn.Linear(4, 2)), rows(5, 3)
    yield "gru", Of(lambda m, x: m.fc(m.rnn(x)[0][:, -1]), rnn=nn.GRU(3, 4, batch_first=True), fc=nn.Linear(4, 2)), rows(5, 3)
    yield "recurrent, relu", Of(lambda m, x: m.fc(m.rnn(x)[0][:, -1]), rnn=nn.RNN(3, 4, nonlinearity="relu", batch_first=True), fc=nn.Linear(4, 2)), rows(3, 3)
    yield "recurrent, unrolled", Of(lambda m, x: [h := torch.zeros(1, 4)] + [h := F.relu(m.i(x[:, t]) + m.h(h)) for t in range(3)] and m.fc(h), i=nn.Linear(3, 4), h=nn.Linear(4, 4), fc=nn.Linear(4, 2)), rows(3, 3)
    yield "transformer", nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), rows(3, 4)
    yield "mixer", Patches(), image
    yield "mixer, layer norm", Patches(True), image
    yield "temporal shift", Of(shifted), rows(3, 4, 2, 2)
    # Dense networks, and how they are put together.
    yield "nested sequential", nested(), vector
    yield "module list", Of(lambda m, x: [x := F.relu(layer(x)) for layer in m.layers][-1], layers=nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])), vector
    yield "module dict", Of(lambda m, x: m.parts["b"](F.relu(m.parts["a"](x))), parts=nn.ModuleDict({"a": nn.Linear(4, 5), "b": nn.Linear(5, 2)})), vector
    yield "data parallel", nn.DataParallel(mlp(4, 5, 2)), vector
    yield "compiled", compiled(mlp(4, 5, 2)), vector
    yield "compiled resnet", compiled(Resnet(Basic(4, 4))), image
    yield "hooked", hooked(mlp(4, 5, 2)), vector
    yield "checkpointed", Of(checkpointed, body=mlp(4, 5, 5, last=nn.ReLU()), head=nn.Linear(5, 2)), vector
    yield "weight norm", nn.Sequential(parametrizations.weight_norm(nn.Linear(4, 5)), nn.ReLU(), parametrizations.weight_norm(nn.Linear(5, 2), dim=1)), vector
    yield "weight norm, hooks", nn.Sequential(nn.utils.weight_norm(nn.Conv2d(2, 3, 3)), nn.ReLU()), small
    yield "spectral norm", nn.Sequential(parametrizations.spectral_norm(nn.Linear(4, 5)), nn.ReLU(), nn.Linear(5, 2)), vector
    yield "spectral norm, hooks", nn.Sequential(nn.utils.spectral_norm(nn.Conv2d(2, 3, 3)), nn.ReLU()), small
    yield "orthogonal", nn.Sequential(parametrizations.orthogonal(nn.Linear(4, 4)), nn.ReLU(), nn.Linear(4, 2)), vector
    yield "symmetric", nn.Sequential(changed(nn.Linear(4, 4), lambda m: parametrize.register_parametrization(m, "weight", Symmetric())), nn.ReLU()), vector
    yield "pruned", nn.Sequential(changed(nn.Linear(4, 6), lambda m: prune.l1_unstructured(m, "weight", 0.5)), nn.ReLU(), nn.Linear(6, 2)), vector
    yield "tied autoencoder", Of(lambda m, x: F.linear(F.relu(m.encode(x)), m.encode.weight.t(), m.bias), encode=nn.Linear(4, 3), bias=nn.Parameter(torch.randn(4))), vector
    yield "tied layers", Of(lambda m, x: m.layer(F.relu(m.layer(F.relu(m.layer(x))))), layer=nn.Linear(4, 4)), vector
    yield "siamese", Of(lambda m, a, b: m.head((m.net(a) - m.net(b)).abs()), net=mlp(3, 4, 4), head=nn.Linear(4, 1)), (rows(3), rows(3))
    yield "q-network", Of(lambda m, s, a: m.net(torch.cat([s, a], 1)), net=mlp(5, 6, 1)), (rows(3), rows(2))
    yield "twin q-networks", Of(lambda m, s, a: torch.min(m.q1(torch.cat([s, a], 1)), m.q2(torch.cat([s, a], 1))), q1=mlp(5, 6, 1), q2=mlp(5, 6, 1)), (rows(3), rows(2))
    yield "dueling", Of(dueling, body=mlp(4, 6, last=nn.ReLU()), value=nn.Linear(6, 1), advantage=nn.Linear(6, 3)), vector
    yield "actor and critic", Of(lambda m, x: (m.actor(x), m.critic(x)), actor=mlp(4, 5, 2), critic=mlp(4, 5, 1)), vector
    yield "dictionary", Of(lambda m, x: {"logits": m.net(x)}, net=mlp(4, 5, 2)), vector
    yield "residual, scaled", Of(lambda m, x: m.head(x + m.alpha * m.body(x)), alpha=nn.Parameter(torch.tensor(0.3)), body=mlp(4, 6, 4), head=nn.Linear(4, 2)), vector
    yield "stochastic depth", Of(lambda m, x: x if m.training and torch.rand(1) < 0.5 else x + m.body(x), body=mlp(4, 6, 4)), vector
    yield "low rank", Of(lambda m, x: F.relu(m.fc(x) + (x @ m.a.T) @ m.b.T), fc=nn.Linear(4, 5), a=nn.Parameter(torch.randn(2, 4)), b=nn.Parameter(torch.randn(5, 2))), vector
    yield "ensemble", Of(lambda m, x: torch.stack([net(x) for net in m.nets]).mean(0), nets=nn.ModuleList([mlp(4, 5, 2) for _ in range(3)])), vector
    yield "maxout", Of(lambda m, x: m.out(m.fc(x).view(x.shape[0], 5, 3).max(dim=2).values), fc=nn.Linear(4, 15), out=nn.Linear(5, 2)), vector
    yield "relu of both signs", Of(lambda m, x: m.out(torch.cat([F.relu(m.fc(x)), F.relu(-m.fc(x))], -1)), fc=nn.Linear(4, 3), out=nn.Linear(6, 2)), vector
    yield "einsum", Of(lambda m, x: torch.einsum("bi,oi->bo", x, m.w).relu(), w=nn.Parameter(torch.randn(3, 4))), vector
    yield "addmm", Of(lambda m, x: torch.addmm(m.b, x, m.w).relu_(), w=nn.Parameter(torch.randn(4, 3)), b=nn.Parameter(torch.randn(3))), vector
    yield "matmul, batched", Of(lambda m, x: (x @ m.w).relu().flatten(1), w=nn.Parameter(torch.randn(2, 4, 3))), rows(2, 3, 4)
    yield "baddbmm", Of(lambda m, x: torch.baddbmm(m.b, m.w, x).relu(), w=nn.Parameter(torch.randn(1, 3, 4)), b=nn.Parameter(torch.randn(1, 3, 2))), rows(4, 2)
    yield "bilinear", Of(lambda m, a, b: m.b(a, b), b=nn.Bilinear(3, 3, 2)), (rows(3), rows(3))
    yield "views", Of(lambda m, x: m.b(F.relu(m.a(x.view(x.size(0), -1))).reshape(-1, 2, 3).squeeze(0).unsqueeze(0).flatten(1)), a=nn.Linear(8, 6), b=nn.Linear(6, 2)), rows(2, 4)
    yield "splits", Of(lambda m, x: sum(F.relu(part) for part in m.fc(x).split([2, 2, 2], 1)) - torch.stack(x.chunk(2, -1), 0).sum(0), fc=nn.Linear(4, 6)), vector
    yield "narrowed", Of(lambda m, x: F.relu(x.narrow(1, 1, 2)) - x.select(1, 0).unsqueeze(1) + x[..., -2:], fc=nn.Identity()), vector
    yield "indexed", Of(lambda m, x: torch.cat([x[:, [3, 1]], x[:, torch.tensor([True, False, False, True])], x[:, ::2].flip(1), x.index_select(1, m.at), x[:, None, 1]], 1).relu(), at=torch.tensor([2, 2])), vector
    yield "indexed twice", Of(lambda m, x: x[:, [0, 1], [1, 0]].relu()), rows(2, 3)
    yield "rolled", Of(lambda m, x: F.relu(torch.roll(x, 1, 1) - x).movedim(1, 0).swapaxes(0, 1)), vector
    yield "masked", Of(lambda m, x: F.relu(F.linear(x, m.w * m.mask)), w=nn.Parameter(torch.randn(4, 4)), mask=torch.ones(4, 4).tril()), vector
    yield "masked fill", Of(lambda m, x: x.masked_fill(m.mask, -1.0).relu(), mask=torch.tensor([[True, False, False, True]])), vector
    yield "written into", Of(written), vector
    yield "broadcast", Of(lambda m, x: torch.tile(x.unsqueeze(2), (1, 1, 2)).expand(3, -1, -1, -1).sum(0).repeat(1, 2, 1).relu().amin(1)), vector
    yield "depends on values", Of(lambda m, x: x if x.sum() > 0 else -x), vector
    # Activations.
    activations = {
        "relu6": nn.ReLU6(), "leaky": nn.LeakyReLU(0.1), "prelu": nn.PReLU(), "prelu, channels": nn.PReLU(5, 0.1), "rrelu": nn.RReLU(),
        "hardtanh": nn.Hardtanh(-2, 0.5), "hardsigmoid": nn.Hardsigmoid(), "threshold": nn.Threshold(0, 0), "threshold that jumps": nn.Threshold(0.5, 0.0),
        "threshold at its value": nn.Threshold(-0.2, -0.2),
        "softshrink": nn.Softshrink(0.3), "hardshrink": nn.Hardshrink(0.3), "hardswish": nn.Hardswish(), "elu": nn.ELU(), "celu": nn.CELU(), "selu": nn.SELU(), "gelu": nn.GELU(),
        "silu": nn.SiLU(), "mish": nn.Mish(), "tanh": nn.Tanh(), "softplus": nn.Softplus(), "softsign": nn.Softsign(),
        "tanhshrink": nn.Tanhshrink(), "layer norm": nn.LayerNorm(5), "identity": nn.Identity(), "dropout": nn.Dropout(0.9), "alpha dropout": nn.AlphaDropout(0.5),
    }  # fmt: skip
    for name, activation in activations.items():
        yield name, nn.Sequential(nn.Linear(4, 5), activation, nn.Linear(5, 2)), vector
    yield "glu", nn.Sequential(nn.Linear(4, 6), nn.GLU(), nn.Linear(3, 2)), vector
    functions = {
        "clamp": lambda x: x.clamp(min=-0.5, max=1), "clamp below": lambda x: torch.clamp(x, min=0), "clip above": lambda x: x.clip(max=0.3),
        "clamp by tensors": lambda x: torch.clamp(x, torch.tensor([-1.0, 0, 0, 0]), torch.tensor(1.0)),
        "abs": lambda x: x.abs() + torch.abs_(x - 1), "maximum": lambda x: torch.maximum(x, -0.1 * x), "fmax": lambda x: torch.fmax(x, torch.zeros(1)),
        "max with a number": lambda x: torch.max(x, torch.tensor(0.5)), "where": lambda x: torch.where(x > 0, x, 0.1 * x),
        "sign": lambda x: x * torch.sign(x), "mask": lambda x: x * (x > 0).float(), "hinge": lambda x: 1 - F.relu(1 - x),
        "amax": lambda x: x - x.amax(1, keepdim=True), "sorted": lambda x: x.sort(dim=1).values, "top two": lambda x: x.topk(2, dim=1).values,
        "median": lambda x: x.median(1).values, "cumulated": lambda x: x.cumsum(1).relu(), "cummax": lambda x: x.cummax(1).values,
        "square": lambda x: x**2, "norm": lambda x: F.normalize(x), "distance": lambda x: torch.cdist(x, torch.zeros(2, 4), p=1), "norm of sums": lambda x: x.norm(p=1, dim=1),
        "lerp": lambda x: torch.lerp(x, torch.ones(4), 0.3).relu(), "addcmul": lambda x: torch.addcmul(x, torch.ones(4), torch.rand(4), value=0.5),
        "dropout, always on": lambda x: F.dropout(x, 0.5), "deviation": lambda x: x - x.mean(1, keepdim=True), "variance": lambda x: x.var(1),
        "diff": lambda x: torch.diff(x, dim=1).abs(), "outer": lambda x: torch.outer(x[0], torch.ones(2)).relu(), "kron": lambda x: torch.kron(x, torch.eye(2)).relu(),
        "sum of two": lambda x: x.sum(1) + x.mean(), "rounded": lambda x: torch.round(x), "to integers": lambda x: x.int().float(), "fft": lambda x: torch.fft.rfft(x).real,
        "pads": lambda x: F.pad(F.pad(x, (1, 2), value=0.5), (-1, 0)).relu(), "glue": lambda x: torch.hstack([x, torch.vstack([x, x])[0:1]]), "dot": lambda x: torch.matmul(x, torch.arange(4.0)), "meshes": lambda x: torch.atleast_3d(x).relu(),
        "swapped": lambda x: x.T.relu().T, "divided": lambda x: x.div(3).relu().sub(1, alpha=2).mul(4), "reciprocal": lambda x: 1 / x,
    }  # fmt: skip
    for name, function in functions.items():
        yield name, Of(lambda m, x: m.function_(m.fc(x)), fc=nn.Linear(4, 4), function_=Called(function)), vector
    # Heads.
    for name, head in {"softmax": nn.Softmax(1), "log softmax": nn.LogSoftmax(-1), "sigmoid": nn.Sigmoid(), "log sigmoid": nn.LogSigmoid(), "tanh at the end": nn.Tanh()}.items():
        yield name, mlp(4, 6, 3, last=head), vector
    yield "argmax", Of(lambda m, x: m.net(x).argmax(1), net=mlp(4, 6, 3)), vector
    yield "prediction", Of(lambda m, x: m.net(x).max(1)[1], net=mlp(4, 6, 3)), vector
    yield "softmax inside", nn.Sequential(nn.Linear(4, 3), nn.Softmax(1), nn.Linear(3, 2)), vector
    # Numbers of other kinds.
    yield "half", mlp(4, 6, 3).half(), vector.half()
    yield "bfloat16", mlp(4, 6, 3).bfloat16(), vector.bfloat16()
    yield "double", mlp(4, 6, 3).double(), vector.double()
    yield "complex", Of(lambda m, x: (m.fc(x) * 1j).imag, fc=nn.Linear(4, 2)), vector
    yield "quantised in training", quantised(), vector
    yield "embedding", nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(6, 2)), torch.tensor([[1, 2]])
    yield "scripted", torch.jit.script(mlp(4, 5, 2)), vector
    yield "scripted part", nn.Sequential(nn.Linear(4, 4), torch.jit.script(mlp(4, 5, 2))), vector
    yield "kept in training mode", nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Dropout(), nn.ReLU(), nn.Linear(5, 2)).train(), vector


class Called(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)
