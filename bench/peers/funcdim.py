"""Ranks of the parameter Jacobian by the usual tools, once per line of standard input.

Usage: funcdim.py METHOD FOLDER, with FOLDER/net.npz (W1, b1, ...) and FOLDER/points.npy.
METHOD: gram (numpy, Gram trick in doubles and eigvalsh), torch32, torch64 (torch.func and matrix_rank), jax (jacrev in doubles and matrix_rank),
neural-tangents (empirical NTK in doubles and matrix_rank), or train (FOLDER holds inputs.npy and targets.npy; one seed of the 1-D experiment).

The first line of output names the versions; every further line is the CPU time of one computation in seconds and the rank.
The number of threads is set by the caller.
"""

import sys
import time

import numpy as np


def load(folder):
    net = np.load(f"{folder}/net.npz")
    layers = [(net[f"W{k}"], net[f"b{k}"]) for k in range(1, len(net.files) // 2 + 1)]
    return layers, np.load(f"{folder}/points.npy")


def gram(layers, points):
    inputs, masks = [points], []
    for weight, bias in layers[:-1]:
        z = inputs[-1] @ weight.T + bias
        masks.append(z > 0)
        inputs.append(np.where(masks[-1], z, 0))
    m, outputs = len(points), len(layers[-1][0])
    signal = np.tile(np.eye(outputs), (m, 1))
    kernel = np.zeros((m * outputs, m * outputs))
    for l in range(len(layers) - 1, -1, -1):
        h = inputs[l] @ inputs[l].T + 1
        if outputs > 1:
            h = np.repeat(np.repeat(h, outputs, 0), outputs, 1)
        kernel += (signal @ signal.T) * h
        if l > 0:
            signal = (signal @ layers[l][0]) * np.repeat(masks[l - 1], outputs, 0)
    values = np.linalg.eigvalsh(kernel)
    return int((values > len(values) * values[-1] * np.finfo(float).eps).sum())


def torch_rank(dtype):
    import torch

    def prepare(layers, points):
        modules = []
        for weight, bias in layers:
            linear = torch.nn.Linear(weight.shape[1], weight.shape[0], dtype=dtype)
            linear.weight.data = torch.tensor(weight, dtype=dtype)
            linear.bias.data = torch.tensor(bias, dtype=dtype)
            modules += [linear, torch.nn.ReLU()]
        model = torch.nn.Sequential(*modules[:-1])
        parameters = {name: p.detach() for name, p in model.named_parameters()}
        x = torch.tensor(points, dtype=dtype)

        def output(parameters, x):
            return torch.func.functional_call(model, parameters, (x.unsqueeze(0),)).squeeze(0)

        def rank():
            jacobian = torch.func.vmap(torch.func.jacrev(output), (None, 0))(parameters, x)
            rows = len(points) * len(layers[-1][0])
            matrix = torch.cat([j.reshape(rows, -1) for j in jacobian.values()], 1)
            return int(torch.linalg.matrix_rank(matrix))

        return rank

    return prepare, f"torch {torch.__version__}"


def jax_rank():
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    def prepare(layers, points):
        parameters = [(jnp.array(w), jnp.array(b)) for w, b in layers]

        def output(parameters, x):
            for weight, bias in parameters[:-1]:
                x = jax.nn.relu(weight @ x + bias)
            return parameters[-1][0] @ x + parameters[-1][1]

        def matrix(parameters, x):
            jacobian = jax.vmap(jax.jacrev(output), (None, 0))(parameters, x)
            rows = len(points) * len(layers[-1][0])
            return jnp.concatenate([j.reshape(rows, -1) for pair in jacobian for j in pair], 1)

        compiled = jax.jit(lambda p, x: jnp.linalg.matrix_rank(matrix(p, x)))
        return lambda: int(compiled(parameters, points))

    return prepare, f"jax {jax.__version__}"


def tangents_rank():
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    import neural_tangents as nt

    def prepare(layers, points):
        parameters = [(jnp.array(w), jnp.array(b)) for w, b in layers]

        def output(parameters, x):
            for weight, bias in parameters[:-1]:
                x = jax.nn.relu(x @ weight.T + bias)
            return x @ parameters[-1][0].T + parameters[-1][1]

        kernel = jax.jit(nt.empirical_ntk_fn(output, trace_axes=(), vmap_axes=0))
        size = len(points) * len(layers[-1][0])

        def rank():
            k = kernel(jnp.array(points), None, parameters)
            return int(jnp.linalg.matrix_rank(k.transpose(0, 2, 1, 3).reshape(size, size)))

        return rank

    return prepare, f"neural-tangents {nt.__version__}"


def train(folder):
    import torch

    torch.set_num_threads(1)
    x = torch.tensor(np.load(f"{folder}/inputs.npy"), dtype=torch.float32)
    y = torch.tensor(np.load(f"{folder}/targets.npy"), dtype=torch.float32)

    def run():
        layers = []
        for n, m in zip([1, 10, 10, 10, 10], [10, 10, 10, 10, 1]):
            linear = torch.nn.Linear(n, m)
            torch.nn.init.normal_(linear.weight, std=(2 / n) ** 0.5)
            torch.nn.init.normal_(linear.bias, std=(2 / n) ** 0.5)
            layers += [linear, torch.nn.ReLU()]
        model = torch.nn.Sequential(*layers[:-1])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-4)
        loss = torch.nn.MSELoss()
        rank = 0
        for epoch in range(2000):
            if epoch % 50 == 0:
                p = {name: q.detach() for name, q in model.named_parameters()}
                f = lambda p, x: torch.func.functional_call(model, p, (x.unsqueeze(0),)).squeeze()
                j = torch.func.vmap(torch.func.grad(f), (None, 0))(p, x)
                rank = int(torch.linalg.matrix_rank(torch.cat([g.reshape(100, -1) for g in j.values()], 1)))
            for batch in torch.randperm(100).split(16):
                optimizer.zero_grad()
                loss(model(x[batch]), y[batch]).backward()
                optimizer.step()
        return rank

    return run, f"torch {torch.__version__}"


def main():
    method, folder = sys.argv[1:3]
    if method == "train":
        rank, version = train(folder)
    elif method == "gram":
        layers, points = load(folder)
        rank, version = (lambda: gram(layers, points)), f"numpy {np.__version__}"
    else:
        maker = {
            "torch32": lambda: torch_rank(__import__("torch").float32),
            "torch64": lambda: torch_rank(__import__("torch").float64),
            "jax": jax_rank,
            "neural-tangents": tangents_rank,
        }[method]
        prepare, version = maker()
        rank = prepare(*load(folder))
    print(version, flush=True)
    for _ in sys.stdin:
        start = time.process_time()
        value = rank()
        print(time.process_time() - start, value, flush=True)


main()
