"""Times the linear regions of a network on [-1, 1]^d with a public tool, once per line of standard input.

Usage: regions.py TOOL NET.npz, TOOL one of regioncam, syrenn, affinitree, edges, edges-torch

The first line of output names the tool; every further line is CPU seconds and the number of regions (regioncam, syrenn,
affinitree) or vertices (edges, edges-torch). Edges is the edge subdivision of Berzins (2023) in numpy, vertices and
edges only. Edges-torch is the author's own program (github.com/arturs-berzins/relu_edge_subdivision) in double
precision on the CPU; the variable FIBERSCOPE_BENCH_EDGES names a folder with it. Syrenn is a program built by
syrenn/build.sh; the variable FIBERSCOPE_BENCH_SYRENN names it.
"""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np


def layers(path):
    file = np.load(path)
    return [(file[f"W{l}"], file[f"b{l}"]) for l in range(1, len(file.files) // 2 + 1)]


def regioncam_tool(net):
    import regioncam

    def run():
        rc = regioncam.Regioncam(size=1)
        for weight, bias in net[:-1]:
            rc.linear(weight.T.astype(np.float32), bias.astype(np.float32))
            rc.relu()
        return rc.num_faces

    return f"regioncam {regioncam.__version__}", run


def syrenn_tool(net):
    numbers = [len(net) - 1]
    for weight, bias in net[:-1]:
        numbers += [weight.shape[1], weight.shape[0], *weight.T.ravel(), *bias]
    file = tempfile.NamedTemporaryFile("w", suffix=".txt")
    file.write(" ".join(map(str, numbers)))
    file.flush()
    process = subprocess.Popen(
        [os.environ["FIBERSCOPE_BENCH_SYRENN"], file.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def run():
        process.stdin.write("\n")
        process.stdin.flush()
        seconds, count = process.stdout.readline().split()
        return float(seconds), int(count), file

    return "SyReNN", run


def affinitree_tool(net):
    import affinitree
    from affinitree import AffFunc, AffTree, Polytope

    d = net[0][0].shape[1]

    def run():
        tree = AffTree.from_poly(Polytope.hyperrectangle(d, [(-1.0, 1.0)] * d), AffFunc.identity(d))
        for weight, bias in net[:-1]:
            tree.apply_func(AffFunc.from_mats(weight, bias))
            for i in range(len(bias)):
                tree.compose(affinitree.schema.partial_ReLU(len(bias), i))
            tree.infeasible_elimination()
        return tree.num_terminals()

    return f"affinitree {affinitree.__version__}", run


def edges_tool(net):
    d = net[0][0].shape[1]

    def corners():
        points = np.array(np.meshgrid(*[[-1.0, 1.0]] * d, indexing="ij")).reshape(d, -1).T
        index = np.arange(2**d)
        pairs = []
        for i in index:
            for k in range(d):
                j = i ^ (1 << k)
                if i < j:
                    pairs.append((i, j))
        # Signs of the sides of the box: 0 on a side, 1 inside.
        low = (points > -1).astype(np.int8)
        high = (points < 1).astype(np.int8)
        return points, np.array(pairs), np.concatenate([low, high], axis=1)

    def run():
        points, edges, signs = corners()
        activations = points
        for weight, bias in net[:-1]:
            values = activations @ weight.T + bias
            for k in range(len(bias)):
                z = values[:, k]
                s = np.sign(z).astype(np.int8)
                cut = s[edges[:, 0]] * s[edges[:, 1]] < 0
                if cut.any():
                    points, edges, signs, values, s = split(points, edges, signs, values, s, k, cut)
                signs = np.concatenate([signs, s[:, None]], axis=1)
            activations = np.maximum(values, 0)
        return len(points)

    def split(points, edges, signs, values, s, k, cut):
        a, b = edges[cut, 0], edges[cut, 1]
        t = (values[a, k] / (values[a, k] - values[b, k]))[:, None]
        new = len(points) + np.arange(len(a))
        points = np.concatenate([points, points[a] + t * (points[b] - points[a])])
        mixed = values[a] + t * (values[b] - values[a])
        mixed[:, k] = 0
        values = np.concatenate([values, mixed])
        # On an edge a sign is that of the end where it is not zero.
        on_edge = np.where(signs[a] != 0, signs[a], signs[b])
        signs = np.concatenate([signs, on_edge])
        s = np.concatenate([s, np.zeros(len(a), np.int8)])
        joined = join(on_edge, new, d)
        edges = np.concatenate([edges[~cut], np.stack([a, new], 1), np.stack([new, b], 1), joined])
        return points, edges, signs, values, s

    def join(on_edge, new, d):
        if d == 1:
            return np.empty((0, 2), int)
        zero_rows, zero_columns = np.nonzero(on_edge == 0)
        n = on_edge.shape[1]
        rng = np.random.default_rng(0)
        words = rng.integers(0, 2**63, size=(n, 3), dtype=np.uint64)
        hashes = np.zeros(len(on_edge), np.uint64)
        for sign in (-1, 0, 1):
            hashes ^= np.bitwise_xor.reduce(np.where(on_edge == sign, words[:, sign + 1], np.uint64(0)), axis=1)
        keys, owners = [], []
        for sign in (-1, 1):
            allowed = np.ones(len(zero_rows), bool) if sign == 1 else zero_columns >= 2 * d
            rows, columns = zero_rows[allowed], zero_columns[allowed]
            keys.append(hashes[rows] ^ words[columns, 1] ^ words[columns, sign + 1])
            owners.append(new[rows])
        keys, owners = np.concatenate(keys), np.concatenate(owners)
        order = np.argsort(keys, kind="stable")
        keys, owners = keys[order], owners[order]
        same = np.nonzero(keys[1:] == keys[:-1])[0]
        return np.stack([owners[same], owners[same + 1]], 1)

    return f"edge subdivision, numpy {np.__version__}", run


def edges_torch_tool(net):
    sys.path.insert(0, os.environ["FIBERSCOPE_BENCH_EDGES"])
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    # The program makes single-precision coordinates; all else follows the default type.
    torch.Tensor.float = torch.Tensor.double
    from edge_subdivision import skeletal_subdivision
    from NN import Net

    hidden = net[:-1]
    model = Net([hidden[0][0].shape[1]] + [len(bias) for _, bias in hidden])
    for layer, (weight, bias) in zip(model.fcs, hidden):
        layer.weight.data = torch.tensor(weight, dtype=torch.float64)
        layer.bias.data = torch.tensor(bias, dtype=torch.float64)

    def run():
        with torch.no_grad():
            points, _, _ = skeletal_subdivision(model, device=torch.device("cpu"), verbose=False)
        return len(points)

    return f"edge subdivision, torch {torch.__version__}", run


def main():
    tools = {
        "regioncam": regioncam_tool,
        "syrenn": syrenn_tool,
        "affinitree": affinitree_tool,
        "edges": edges_tool,
        "edges-torch": edges_torch_tool,
    }
    name, run = tools[sys.argv[1]](layers(sys.argv[2]))
    print(name, flush=True)
    for _ in sys.stdin:
        start = time.process_time()
        count = run()
        seconds = time.process_time() - start
        if isinstance(count, tuple):
            seconds, count, _ = count
        print(seconds, count, flush=True)


main()
