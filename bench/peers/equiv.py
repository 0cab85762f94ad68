"""Decide equality of two ReLU networks on [-1, 1]^n as its peers would: equiv.py milp|marabou A B SECONDS.

A and B are safetensors files with tensors layers.L.weight and layers.L.bias. Prints one line: an answer and the seconds.

milp     HiGHS (scipy): big-M encoding of both networks with interval bounds, |f_A - f_B| maximised, one MILP per sign.
marabou  Is there an x with f_A(x) - f_B(x) >= 1e-3, or one with <= -1e-3? (With 1e-6, its tolerance, it calls twins different.)

An alarm ends the process somewhat after the limit, in case the solver does not look at its clock.
"""

import signal
import sys
import time

import numpy as np
from safetensors.numpy import load_file


def layers(path):
    tensors = load_file(path)
    names = sorted({name.rsplit(".", 1)[0] for name in tensors}, key=lambda name: [int(p) if p.isdigit() else p for p in name.split(".")])
    return [(tensors[f"{name}.weight"].astype(float), tensors[f"{name}.bias"].astype(float)) for name in names]


def intervals(network):
    """The intervals of all pre-activations on the box."""
    low, high = -np.ones(network[0][0].shape[1]), np.ones(network[0][0].shape[1])
    for weight, bias in network:
        plus, minus = np.maximum(weight, 0), np.minimum(weight, 0)
        low, high = plus @ low + minus @ high + bias, plus @ high + minus @ low + bias
        yield low, high
        low, high = np.maximum(low, 0), np.maximum(high, 0)


def milp(a, b, limit):
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_matrix

    lower, upper, integer = [-1.0] * a[0][0].shape[1], [1.0] * a[0][0].shape[1], [0] * a[0][0].shape[1]
    rows, cols, entries, row_low, row_high = [], [], [], [], []

    def variable(low, high, whole=0):
        lower.append(low), upper.append(high), integer.append(whole)
        return len(lower) - 1

    def constraint(terms, low, high):
        for column, entry in terms:
            rows.append(len(row_low)), cols.append(column), entries.append(entry)
        row_low.append(low), row_high.append(high)

    def encode(network):
        inputs = list(range(network[0][0].shape[1]))
        for depth, ((weight, bias), (low, high)) in enumerate(zip(network, intervals(network))):
            outputs = []
            for i in range(len(bias)):
                terms = [(x, weight[i, k]) for k, x in enumerate(inputs)]
                if depth == len(network) - 1:
                    y = variable(low[i], high[i])
                    constraint(terms + [(y, -1.0)], -bias[i], -bias[i])
                else:
                    y, on = variable(0.0, max(high[i], 0.0)), variable(0, 1, 1)
                    constraint([(y, 1.0)] + [(x, -w) for x, w in terms], bias[i], np.inf)
                    constraint([(y, 1.0), (on, -low[i])] + [(x, -w) for x, w in terms], -np.inf, bias[i] - low[i])
                    constraint([(y, 1.0), (on, -max(high[i], 0.0))], -np.inf, 0.0)
                outputs.append(y)
            inputs = outputs
        return inputs

    (f,), (g,) = encode(a), encode(b)
    matrix = coo_matrix((entries, (rows, cols)), shape=(len(row_low), len(lower)))
    start = time.perf_counter()
    for sign in (1.0, -1.0):
        cost = np.zeros(len(lower))
        cost[f], cost[g] = -sign, sign
        left = limit - (time.perf_counter() - start)
        if left <= 0:
            return "time-out"
        result = milp(cost, constraints=LinearConstraint(matrix.tocsr(), row_low, row_high), bounds=Bounds(lower, upper),
                      integrality=integer, options={"time_limit": left})
        if result.status == 1:
            return "time-out"
        if result.x is not None and -result.fun > 1e-3:
            return "different"
    return "equal within 1e-3"


def marabou(a, b, limit):
    import warnings

    warnings.simplefilter("ignore")
    from maraboupy import Marabou, MarabouCore, MarabouNetwork

    start = time.perf_counter()
    for sign in (1.0, -1.0):
        query = MarabouNetwork.MarabouNetwork()
        first = [query.getNewVariable() for _ in range(a[0][0].shape[1])]
        for x in first:
            query.setLowerBound(x, -1.0), query.setUpperBound(x, 1.0)

        def encode(network):
            inputs = first
            for depth, (weight, bias) in enumerate(network):
                outputs = []
                for i in range(len(bias)):
                    z = query.getNewVariable()
                    query.addEquality(inputs + [z], list(weight[i]) + [-1.0], -bias[i])
                    if depth < len(network) - 1:
                        y = query.getNewVariable()
                        query.addRelu(z, y)
                        z = y
                    outputs.append(z)
                inputs = outputs
            return inputs

        (f,), (g,) = encode(a), encode(b)
        query.addInequality([f, g], [-sign, sign], -1e-3)
        left = int(limit - (time.perf_counter() - start))
        if left <= 0:
            return "time-out"
        answer = query.solve(options=Marabou.createOptions(timeoutInSeconds=left, verbosity=0), verbose=False)[0]
        if answer == "sat":
            return "different"
        if answer != "unsat":
            return "time-out"
    return "equal within 1e-3"


method, path_a, path_b, limit = sys.argv[1:]
signal.alarm(int(float(limit)) + 5)
begin = time.perf_counter()
answer = {"milp": milp, "marabou": marabou}[method](layers(path_a), layers(path_b), float(limit))
print(f"{answer},{time.perf_counter() - begin:.3f}")
