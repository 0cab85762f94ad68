"""Reads PyTorch modules in four ways and holds what was read against PyTorch.

Usage: modules.py [--only NAME] [--from NUMBER] [--csv FILE]

The modules of `module_gallery.py` are read by `fs.from_torch`, from what both exporters of PyTorch write
(`torch.onnx.export` with and without `dynamo`), and from their state dicts. What is read is compared with the module at
random inputs (1e-4 of the largest output; 1e-2 in half precision), and small networks in exact arithmetic, with
fractions, at one of them. A head that is set aside is applied to our values. An export that is not the module is held against
onnxruntime ("as exported"); a state dict says nothing of what stands between the layers, and is read by an assumption that
every answer states ("by assumption" where that is not the module). A line for each module, counts at the end;
exits with 1 if something was read wrongly, or refused without the name of an operator or what to do.
"""

import argparse
import collections
import contextlib
import copy
import csv
import io
import logging
import re
import tempfile
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from module_gallery import gallery

import fiberscope as fs

POINTS = 6
EXACT = 20_000
"""The most entries for the evaluation with fractions."""


def evaluated(module):
    """A copy as it is evaluated, with numbers in its running statistics that training would have left there."""
    with contextlib.suppress(RuntimeError):  # the older weight norm cannot be copied
        module = copy.deepcopy(module)
    for each in module.modules():
        if getattr(each, "running_var", None) is not None:
            each.running_mean.uniform_(-0.5, 0.5)
            each.running_var.uniform_(0.5, 2)
    return module


def tensors(result):
    if isinstance(result, dict):
        result = tuple(result.values())
    return list(result) if isinstance(result, (tuple, list)) else [result]


def heads(ours, shape):
    """What our values may stand for, if a head was set aside."""
    shaped = torch.from_numpy(ours)
    for size in {tuple(shape), (1, ours.size)}:
        with contextlib.suppress(RuntimeError):
            each = shaped.reshape(size)
            yield torch.sigmoid(each)
            for dim in range(each.dim()):
                yield from (torch.softmax(each, dim), torch.log_softmax(each, dim), each.argmax(dim).double())


def exactly(net, x):
    """The value of a network at a point, with fractions."""
    value = [Fraction(float(each)) for each in x]
    for (starts, columns, entries), bias, activation in zip(net._net.entries(), net._net.biases(), net._net.activations()):
        sums = [Fraction(float(each)) for each in bias]
        rows = np.repeat(np.arange(len(sums)), np.diff(starts))
        for i, j, w in zip(rows.tolist(), columns.tolist(), entries.tolist()):
            sums[i] += Fraction(w) * value[j]
        value = [max(each, Fraction(0)) for each in sums] if activation == "relu" else sums
    return np.array([float(each) for each in value])


def compare(net, module, example, at=0):
    """`None` if the network computes what the module computes, or what is different."""
    given = example if isinstance(example, tuple) else (example,)
    eps = 1e-2 if given[0].dtype in (torch.float16, torch.bfloat16) else 1e-4
    torch.manual_seed(1)
    aside = any("set aside" in note for note in net.notes)
    for point in range(POINTS):
        x = tuple(2 * torch.randn(each.shape).to(each.dtype) for each in given)
        with torch.no_grad():
            theirs = tensors(module(*(each.clone() for each in x)))[at].double()
        flat = np.concatenate([each.double().flatten().numpy() for each in x])
        if flat.size != net.widths[0]:
            return f"{net.widths[0]} inputs for {flat.size}"
        ours = net(flat[None])[0]

        def same(found):
            found = np.asarray(found).flatten()
            wanted = theirs.flatten().numpy()
            return found.shape == wanted.shape and np.allclose(found, wanted, rtol=eps, atol=eps * max(1, np.abs(wanted).max()))

        if not (same(ours) or (aside and any(same(each) for each in heads(ours, theirs.shape)))):
            return f"point {point}: {ours.flatten()[:4]} for {theirs.flatten()[:4].numpy()}"
        if point == 0 and sum(each[2].size for each in net._net.entries()) <= EXACT:
            exact = exactly(net, flat)
            if not np.allclose(exact, ours, rtol=1e-9, atol=1e-9 * max(1, np.abs(exact).max())):
                return f"exactly {exact[:4]}, in doubles {ours[:4]}"
    return None


# A refusal names an operator, a layer, or what the file is, and says what could be done.
USEFUL = re.compile(r"layer|operator|node|step|file|state dict|input|output|parameter|tensor|module")


def runs_like(path, example):
    """The file as onnxruntime runs it, to be called like the module."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    return lambda *given: [torch.from_numpy(each) for each in session.run(None, dict(zip(names, (x.numpy() for x in given))))]


def outcome(read, module, example, way, path):
    try:
        net = read()
    except fs.FiberscopeError as error:
        return ("refused" if USEFUL.search(str(error)) else "refused without a reason"), str(error)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    try:
        wrong = compare(net, module, example)
    except Exception as error:
        return "failed", f"comparison: {type(error).__name__}: {error}"
    if wrong and way == "state dict":
        return "by assumption", wrong
    if wrong and path is not None and compare(net, runs_like(path, example), example) is None:
        return "as exported", wrong
    return ("wrong", wrong) if wrong else ("right", "")


def exported(module, example, folder, dynamo):
    """The file that PyTorch writes, or `None` if it does not."""
    path = folder / f"model_{dynamo}.onnx"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            torch.onnx.export(module, example, str(path), dynamo=dynamo)
        except Exception:
            return None
    return path


def ways(module, example, folder):
    yield "from_torch", lambda: fs.from_torch(module, example), None
    inner = getattr(module, "_orig_mod", module)
    inner = inner.module if isinstance(inner, torch.nn.DataParallel) else inner
    for name, dynamo in (("dynamo", True), ("torchscript", False)):
        path = exported(inner, example, folder, dynamo)
        yield name, path and (lambda path=path: fs.load(path)), path
    torch.save(inner.state_dict(), folder / "state.pt")
    yield "state dict", lambda: fs.load(folder / "state.pt"), None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only")
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--csv")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    counts = collections.defaultdict(collections.Counter)
    rows, bad = [], 0
    for at, (name, module, example) in enumerate(gallery()):
        if at < asked.first or (asked.only and asked.only != name):
            continue
        training = name == "kept in training mode"
        module = evaluated(module) if not isinstance(module, torch.jit.ScriptModule) else module
        line = [name]
        with tempfile.TemporaryDirectory() as folder:
            module.train(training)
            for way, read, path in ways(module, example, Path(folder)):
                module.train(training and way == "from_torch")
                seen = Evaluated(module)
                found, why = outcome(read, seen, example, way, path) if read else ("not exported", "")
                bad += found in ("wrong", "failed", "refused without a reason")
                counts[way][found] += 1
                line.append(found)
                rows.append([name, way, found, why])
                if why and (asked.only or found not in ("refused",)):
                    print(f"  {name}, {way}: {found}: {why}")
        print(" | ".join(line), flush=True)
    for way, count in counts.items():
        print(way, dict(count))
    if asked.csv:
        with open(asked.csv, "w", newline="") as file:
            csv.writer(file).writerows([["module", "way", "found", "why"], *rows])
    raise SystemExit(bad > 0)


class Evaluated:
    """A module as `compare` calls it: in evaluation, and as it was left afterwards."""

    def __init__(self, module):
        self.module = module

    def __call__(self, *given):
        training = self.module.training
        self.module.eval()
        try:
            return self.module(*given)
        finally:
            self.module.train(training)


if __name__ == "__main__":
    main()
