"""Functional dimension on a GPU: the command beside torch and jax on the same device. Prints Markdown tables.

Usage: gpu.py FIBERSCOPE [ranks] [tracker] [workers], FIBERSCOPE the command. A peer that cannot be imported, that needs more memory than there is, or that
takes longer than LIMIT is listed with the reason. Peers compute the kernel in doubles by the Gram trick and count its eigenvalues above the usual threshold;
the command computes the rank of the stored numbers exactly.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

LIMIT = 150
CASES = [(1000, (784, 128, 128, 10)), (5000, (784, 128, 128, 10)), (10_000, (784, 128, 128, 10))]
PEERS = {"torch": (1000, 5000), "jax": (1000,)}


def problem(points, widths, seed=1):
    rng = np.random.default_rng(seed)
    layers = [
        (rng.normal(size=(m, n)) * np.sqrt(2 / n), rng.normal(size=m) * np.sqrt(2 / n)) for n, m in zip(widths, widths[1:])
    ]
    return layers, rng.uniform(-1, 1, size=(points, widths[0]))


def write(folder, points, widths):
    layers, inputs = problem(points, widths)
    arrays = {f"{name}{k}": array for k, layer in enumerate(layers, 1) for name, array in zip("Wb", layer)}
    np.savez(f"{folder}/net.npz", **arrays)
    np.save(f"{folder}/points.npy", inputs)


def ours(command, folder, *options):
    begun = time.perf_counter()
    done = subprocess.run(
        [command, "funcdim", f"{folder}/net.npz", f"{folder}/points.npy", "--json", "--quiet", *options], capture_output=True, text=True
    )
    seconds = time.perf_counter() - begun
    if not done.stdout:
        return seconds, None, done.stderr.strip()
    found = json.loads(done.stdout)
    return seconds, found, f"{found['lower']} to {found['upper']}"


def gram(xp, layers, points):
    """The kernel in doubles, and its eigenvalues above the threshold."""
    inputs, masks = [points], []
    for weight, bias in layers[:-1]:
        z = inputs[-1] @ weight.T + bias
        masks.append((z > 0).astype(z.dtype) if xp.__name__ != "torch" else (z > 0).to(z.dtype))
        inputs.append(z * masks[-1])
    m, outputs = len(points), len(layers[-1][0])
    repeat = (lambda x, axis: x.repeat_interleave(outputs, axis)) if xp.__name__ == "torch" else (lambda x, axis: xp.repeat(x, outputs, axis))
    eye = xp.eye(outputs, dtype=points.dtype, **({"device": "cuda"} if xp.__name__ == "torch" else {}))
    signal, kernel = xp.tile(eye, (m, 1)), None
    for k in range(len(layers) - 1, -1, -1):
        part = signal @ signal.T
        part = part * repeat(repeat(inputs[k] @ inputs[k].T + 1, 0), 1)
        kernel = part if kernel is None else kernel + part
        if k > 0:
            signal = (signal @ layers[k][0]) * repeat(masks[k - 1], 0)
    values = xp.linalg.eigvalsh(kernel)
    return int((values > len(values) * values[-1] * np.finfo(float).eps).sum())


def peer(name, points, widths):
    """One computation in a process of its own: warm-up on few points, then the case."""
    layers, inputs = problem(points, widths)
    if name == "torch":
        import torch as xp

        make = lambda x: xp.tensor(x, dtype=xp.float64, device="cuda")
    else:
        import jax

        jax.config.update("jax_enable_x64", True)
        import jax.numpy as xp

        make = xp.asarray
    layers = [(make(w), make(b)) for w, b in layers]
    gram(xp, layers, make(inputs[:20]))
    data = make(inputs)
    begun = time.perf_counter()
    rank = gram(xp, layers, data)
    print(json.dumps([time.perf_counter() - begun, rank]))


def ask_peer(name, points, widths):
    if points not in PEERS[name]:
        return "not tried"
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--peer", name, str(points), ",".join(map(str, widths))], capture_output=True, text=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return f"more than {LIMIT} s"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["failed"])[-1]
        return "out of memory" if "memory" in done.stderr.lower() else last[:60]
    seconds, rank = json.loads(done.stdout.splitlines()[-1])
    return f"{seconds:.1f} s ({rank})"


def ranks(command):
    print("| points | rows | widths | command in all | on the GPU | rank | torch, eigenvalues | jax, eigenvalues |")
    print("|---:|---:|---|---|---|---|---|---|")
    for points, widths in CASES:
        with tempfile.TemporaryDirectory() as folder:
            write(folder, points, widths)
            runs = [ours(command, folder, "--device", "cuda") for _ in range(3 if points < 10_000 else 2)]
            seconds, found, rank = min(runs, key=lambda run: run[0])
            on = found["device"] if found else "-"
        shape = "-".join(map(str, widths))
        peers = [ask_peer(name, points, widths) for name in PEERS]
        print(f"| {points} | {points * widths[-1]:,} | {shape} | {seconds:.2f} s | {on} | {rank} | {' | '.join(peers)} |", flush=True)


def tracker(points=10_000, widths=(784, 512, 512, 10), epochs=3):
    """Functional dimension every epoch through the Tracker, beside the training itself."""
    import fiberscope as fs
    import torch

    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(points, widths[0]))
    y = torch.tensor(rng.integers(0, widths[-1], size=points), device="cuda")
    layers = [torch.nn.Linear(n, m) for n, m in zip(widths, widths[1:])]
    model = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2]).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.tensor(X, dtype=torch.float32, device="cuda")
    watch = fs.Tracker(model, X, every=points // 100, device="cuda", memory=60_000)
    for epoch in range(epochs):
        begun = time.perf_counter()
        before = watch.seconds
        for batch in torch.randperm(points).split(100):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x[batch]), y[batch])
            loss.backward()
            optimizer.step()
            watch.step(loss=loss.item())
        spent = time.perf_counter() - begun
        record = watch.records[-1]
        observed = watch.seconds - before
        print(
            f"epoch {epoch + 1}: training {spent - observed:.2f} s, record {observed:.2f} s, functional dimension "
            f"{record['functional_dimension']} to {record['functional_dimension_upper']}",
            flush=True,
        )


def workers(command, networks=6, points=1500, widths=(64, 96, 96, 10)):
    """Tasks of one plan: by a worker for every GPU, by two workers that share the first, and by one on the processor."""
    count = len(subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.splitlines())
    print("| workers | seconds | results |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for k in range(networks):
            layers, inputs = problem(points, widths, seed=k)
            names.append(f"{folder}/net{k}.npz")
            np.savez(names[-1], **{f"{name}{j}": array for j, layer in enumerate(layers, 1) for name, array in zip("Wb", layer)})
        np.save(f"{folder}/points.npy", inputs)
        shared = [["--device", "cuda:0"]] * 2
        for title, devices in (
            (f"a GPU each ({count})", [["--device", f"cuda:{k}"] for k in range(count)]),
            ("two on one GPU", shared),
            ("one on the processor", [[]]),
        ):
            plan = f"{folder}/{title.split()[-1]}-{len(devices)}"
            subprocess.run([command, "plan", "funcdim", *names, "--data", f"{folder}/points.npy", "-o", plan, "--quiet"], check=True, stdout=subprocess.DEVNULL)
            begun = time.perf_counter()
            running = [subprocess.Popen([command, "work", plan, "--quiet", *device], stdout=subprocess.DEVNULL) for device in devices]
            codes = [each.wait() for each in running]
            seconds = time.perf_counter() - begun
            digest = hashlib.sha256()
            for name in sorted(os.listdir(f"{plan}/results")):
                with open(f"{plan}/results/{name}", "rb") as file:
                    digest.update(file.read())
            print(f"| {title} | {seconds:.2f} | {'all done' if not any(codes) else codes}, sha256 {digest.hexdigest()[:12]} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--peer":
        peer(sys.argv[2], int(sys.argv[3]), tuple(map(int, sys.argv[4].split(","))))
    else:
        parts = sys.argv[2:] or ["ranks", "tracker", "workers"]
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        if "ranks" in parts:
            ranks(sys.argv[1])
        if "tracker" in parts:
            tracker()
        if "workers" in parts:
            workers(sys.argv[1])
