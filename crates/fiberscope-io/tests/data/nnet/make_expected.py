"""Writes the expected outputs of the NNet tests.

acasxu_1_1_normalised.csv: 5 inputs in normalised units, then the 5 outputs of onnxruntime on the ONNX
file of the same network (single precision). Usage: make_expected.py acasxu_1_1.onnx

*_physical.csv: inputs in physical units, then outputs of `evaluate` below, which follows the format's
description in double precision: (x - mean) / range, the layers, y * range + mean.
"""

import sys

import numpy as np
import onnxruntime


def load(path):
    lines = [line.strip() for line in open(path) if line.strip() and not line.startswith("//")]
    rows = [[float(cell) for cell in line.split(",") if cell.strip()] for line in lines]
    sizes = [int(size) for size in rows[1]]
    minima, maxima, means, ranges = rows[3:7]
    at, layers = 7, []
    for cols, height in zip(sizes, sizes[1:]):
        layers.append((np.array(rows[at : at + height]), np.array(rows[at + height : at + 2 * height])[:, 0]))
        at += 2 * height
    assert at == len(rows) and all(weight.shape[1] == cols for (weight, _), cols in zip(layers, sizes))
    n = sizes[0]
    return minima[:n], maxima[:n], means[:n], ranges[:n], means[-1], ranges[-1], layers


def evaluate(nnet, x):
    _, _, means, ranges, output_mean, output_range, layers = nnet
    a = (x - np.array(means)) / np.array(ranges)
    for weight, bias in layers[:-1]:
        a = np.maximum(weight @ a + bias, 0)
    weight, bias = layers[-1]
    return (weight @ a + bias) * output_range + output_mean


def write(path, points):
    with open(path, "w") as out:
        for x, y in points:
            print(",".join(repr(float(value)) for value in [*x, *y]), file=out)


random = np.random.default_rng(0)
for name in ["small", "acasxu_1_1"]:
    nnet = load(f"{name}.nnet")
    inputs = random.uniform(nnet[0], nnet[1], size=(40, len(nnet[0])))
    write(f"{name}_physical.csv", [(x, evaluate(nnet, x)) for x in inputs])

session = onnxruntime.InferenceSession(sys.argv[1])
inputs = random.uniform(-0.5, 0.5, size=(40, 5)).astype(np.float32)
outputs = [session.run(None, {"input": x.reshape(1, 1, 1, 5)})[0].ravel() for x in inputs]
write("acasxu_1_1_normalised.csv", zip(inputs, outputs))
