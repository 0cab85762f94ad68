"""Times numpy on the batched evaluation of a ReLU network, once per line of standard input.

Usage: eval_numpy.py WIDTHS POINTS, for example: eval_numpy.py 784,512,512,10 10000

The first line of output names numpy and its BLAS; every further line is the time of one
evaluation in seconds. The number of threads is set by the caller (OPENBLAS_NUM_THREADS).
"""

import sys
import time

import numpy as np


def evaluate(layers, points):
    a = points
    for weight, bias in layers[:-1]:
        a = a @ weight.T
        a += bias
        np.maximum(a, 0, out=a)
    weight, bias = layers[-1]
    return a @ weight.T + bias


def main():
    widths = [int(width) for width in sys.argv[1].split(",")]
    rng = np.random.default_rng(0)
    layers = [
        (rng.uniform(-1, 1, (n, m)) / m**0.5, rng.uniform(-1, 1, n))
        for m, n in zip(widths, widths[1:])
    ]
    points = rng.uniform(-1, 1, (int(sys.argv[2]), widths[0]))
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    print(f"numpy {np.__version__} ({blas['name']} {blas['version']})", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        evaluate(layers, points)
        print(time.perf_counter() - start, flush=True)


main()
