"""Bad input: an exception of the tree whose sentence names what was expected and found."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_network

import fiberscope as fs

NET = random_network([3, 4, 2], 1)
CASES = [
    (lambda: NET(np.zeros((5, 4))), fs.ShapeError, r"expected points with 3 inputs.*found \(5, 4\)"),
    (lambda: NET(np.zeros((2, 2, 3))), fs.ShapeError, "expected points with 3 inputs"),
    (lambda: NET(np.zeros((5, 3), complex)), fs.DtypeError, "expected real numbers, found dtype complex128"),
    (lambda: NET(np.array([["a", "b", "c"]])), fs.DtypeError, "expected real numbers"),
    (lambda: NET([[1.0, 2.0, 3.0], [1.0]]), fs.ShapeError, "rows of different lengths"),
    (lambda: NET(np.zeros((2, 3), np.longdouble)), fs.DtypeError, "at most double precision"),
    (lambda: NET([[2**60 + 1, 0, 0]]), fs.DtypeError, "beyond 2\\^53"),
    (lambda: fs.Network([], []), fs.ShapeError, "at least one layer"),
    (lambda: fs.Network([np.eye(2)], [np.zeros(3)]), fs.ShapeError, "layer 1: expected a bias of length 2"),
    (lambda: fs.Network([np.eye(2), np.eye(3)]), fs.ShapeError, "layer 2: expected 2 inputs.*found 3"),
    (lambda: fs.Network([np.zeros(2)]), fs.ShapeError, r"weight of layer 1: expected 2 dimensions, found shape \(2,\)"),
    (lambda: fs.Network([np.eye(2), np.eye(2)], [np.zeros(2)]), fs.ShapeError, "as many biases"),
    (lambda: fs.Network([[[np.nan]]]), fs.ArgumentError, r"layer 1: weight\[1\]\[1\] is NaN; expected a finite number"),
    (lambda: fs.Network([np.eye(2)], activations=["tanh"]), fs.ArgumentError, 'expected "relu" or "identity"'),
    (lambda: fs.Network([np.eye(2)], activations=["relu"]), fs.ShapeError, "last layer has activation relu"),
    (lambda: fs.Network([np.zeros((0, 2))]), fs.ShapeError, "widths must be at least 1"),
    (lambda: fs.load("zoo:nothing"), fs.ModelFileError, "no such network"),
    (lambda: fs.load("there-is-no.onnx"), FileNotFoundError, "there-is-no.onnx"),
    (lambda: fs.load("model.txt"), fs.ModelFileError, "expected a file name ending in"),
    (lambda: NET.save("model.txt"), fs.ModelFileError, "expected a file name ending in"),
    (lambda: NET.save("model.npz", precision="f8"), fs.ArgumentError, 'expected "f32" or "f64"'),
    (lambda: fs.from_onnx(b"no model"), fs.ModelFileError, "."),
    (lambda: fs.from_onnx(3), fs.DtypeError, "found int"),
    (lambda: fs.equiv(NET, 3), fs.DtypeError, "b: expected a Network"),
    (lambda: fs.equiv(NET, "zoo:deep"), fs.ShapeError, "3 and 2 inputs"),
    (lambda: fs.equiv(NET, NET, box=(1, -1)), fs.DomainError, "input 1: the interval is empty, from 1 to -1"),
    (lambda: fs.equiv(NET, NET, box=(0, np.inf)), fs.ArgumentError, "box: expected finite numbers"),
    (lambda: fs.equiv(NET, NET, box=[(0, 1)]), fs.ShapeError, "expected a box with 3 intervals"),
    (lambda: NET.regions(max_regions=-3), fs.ArgumentError, "out of range"),
    (lambda: fs.equiv(NET, NET, box=np.zeros((2, 3))), fs.ShapeError, "box"),
    (lambda: fs.equiv(NET, NET, tolerance=-1), fs.ArgumentError, "positive"),
    (lambda: fs.equiv(NET, NET, time_limit=0), fs.ArgumentError, "time_limit"),
    (lambda: fs.equiv(NET, NET, threads=0), fs.ArgumentError, "threads"),
    (lambda: fs.equiv(NET, NET, seed=-1), fs.ArgumentError, "seed"),
    (lambda: fs.check(b"{}", NET, NET), fs.CertificateError, "."),
    (lambda: NET.functional_dimension(np.zeros((3, 2))), fs.ShapeError, "expected points with 3 inputs"),
    (lambda: NET.functional_dimension(np.zeros((0, 3))), fs.ShapeError, "no rows"),
    (lambda: NET.functional_dimension([[np.inf, 0, 0]]), fs.FiberscopeError, "finite"),
    (lambda: NET.functional_dimension(np.zeros((3, 3)), box=(0, 1)), fs.ArgumentError, "both"),
    (lambda: NET.regions(method="guess"), fs.ArgumentError, '"edges" or "walk"'),
    (lambda: NET.regions(box=(1, 1)), fs.DomainError, "flat"),
    (lambda: NET.slice(), fs.ArgumentError, "points="),
    (lambda: NET.slice(directions=[[1, 0, 0], [2, 0, 0]]), fs.ArgumentError, "parallel"),
    (lambda: NET.slice(directions=[[1, 0], [0, 1]]), fs.ArgumentError, "expected 3 numbers"),
    (lambda: NET.conserve(np.zeros((4, 3)), np.zeros((3, 2))), fs.ShapeError, "expected 4 rows"),
    (lambda: fs.volume([3, 3]), fs.ArgumentError, "."),
    (lambda: fs.construct("round", [3, 3]), fs.ArgumentError, "identifiable"),
    (lambda: fs.train(), fs.ArgumentError, "nothing to train on"),
    (lambda: fs.train(task="f9"), fs.ArgumentError, "no task"),
    (lambda: fs.train(np.zeros((4, 1)), np.zeros(4), optimizer="magic", epochs=1), fs.ArgumentError, "optimizer"),
    (lambda: fs.linear.strata([2, 2], rank=3), fs.ArgumentError, "rank 3 is larger"),
    (lambda: fs.linear.strata([20] * 6, max_strata=10), fs.ArgumentError, "max_strata"),
    (lambda: fs.linear.inspect(NET), fs.ArgumentError, "activation relu"),
    (lambda: fs.linear.move("zoo:linear-network", up=(1, 2)), fs.ArgumentError, "expected up="),
    (lambda: fs.Tracker(NET, np.zeros((3, 3)), every=0), fs.ArgumentError, "every"),
    (lambda: fs.Tracker(NET, np.zeros((3, 2))), fs.ShapeError, "data: expected points with 3 inputs"),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_sentence_says_what_is_wrong(case):
    call, kind, sentence = CASES[case]
    with pytest.raises(kind, match=f"(?s){sentence}") as caught:
        call()
    assert isinstance(caught.value, (fs.FiberscopeError, FileNotFoundError))
    assert type(caught.value) is not fs.InternalError


def test_there_is_one_tree():
    for name in dir(fs.errors):
        each = getattr(fs.errors, name)
        if isinstance(each, type) and issubclass(each, BaseException):
            assert issubclass(each, fs.FiberscopeError), name


def test_nothing_half_written_is_left(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        NET.save(tmp_path / "no" / "such" / "folder.json")
    assert list(tmp_path.iterdir()) == []


def test_damaged_files_are_named(tmp_path):
    for ending in ("onnx", "safetensors", "npz", "json", "pt", "nnet"):
        path = tmp_path / f"bad.{ending}"
        path.write_bytes(b"\x80\x02 nothing that anyone wrote")
        with pytest.raises(fs.ModelFileError, match=f"bad.{ending}"):
            fs.load(path)
