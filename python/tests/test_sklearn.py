"""scikit-learn models against scikit-learn itself, and through skl2onnx."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fiberscope as fs

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.compose import ColumnTransformer, TransformedTargetRegressor  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.impute import SimpleImputer  # noqa: E402
from sklearn.linear_model import LinearRegression, LogisticRegression  # noqa: E402
from sklearn.neural_network import MLPClassifier, MLPRegressor  # noqa: E402
from sklearn.pipeline import FeatureUnion, make_pipeline  # noqa: E402
from sklearn.preprocessing import (  # noqa: E402
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4)) * [1, 10, 0.1, 3] + [0, 5, 0, -2]
Y = np.abs(X[:, 0]) + X[:, 1]
LABELS = (X[:, 0] > 0).astype(int) + (X[:, 3] > 0)


def fitted(model, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def regressors():
    mlp = dict(hidden_layer_sizes=(5, 4), max_iter=20, random_state=0)
    yield MLPRegressor(**mlp)
    yield MLPRegressor(activation="identity", **mlp)
    yield make_pipeline(StandardScaler(), MLPRegressor(**mlp))
    yield make_pipeline(MinMaxScaler(clip=True), PCA(3, whiten=True), MLPRegressor(**mlp))
    yield make_pipeline(RobustScaler(), "passthrough", MaxAbsScaler(), LinearRegression())
    columns = [
        ("first", make_pipeline(SimpleImputer(), StandardScaler()), slice(1, 3)),
        ("mask", "passthrough", [True, False, False, True]),
        ("none", "drop", [0]),
        ("last", FunctionTransformer(), [-1]),
    ]
    yield make_pipeline(ColumnTransformer(columns, remainder=MaxAbsScaler()), MLPRegressor(**mlp))
    yield make_pipeline(FeatureUnion([("all", StandardScaler()), ("two", PCA(2))]), MLPRegressor(**mlp))
    yield TransformedTargetRegressor(make_pipeline(StandardScaler(), MLPRegressor(**mlp)), transformer=StandardScaler())


@pytest.mark.parametrize("model", list(regressors()), ids=lambda model: type(model).__name__)
def test_regressors_compute_the_same(model):
    model = fitted(model, Y)
    net = fs.from_sklearn(model)
    points = RNG.normal(size=(50, 4)) * 5
    assert np.allclose(net(points)[:, 0], model.predict(points), rtol=1e-9, atol=1e-9)
    assert net.precision == "f64"


@pytest.mark.parametrize("labels", [LABELS, LABELS > 0], ids=["three", "two"])
@pytest.mark.parametrize("kind", [MLPClassifier, LogisticRegression])
def test_heads_are_set_aside(kind, labels):
    model = fitted(make_pipeline(StandardScaler(), kind(max_iter=15, random_state=0)), labels)
    net = fs.from_sklearn(model)
    assert any("set aside" in note for note in net.notes)
    logits = net(X)
    theirs = model.predict_proba(X)
    if logits.shape[1] == 1:
        ours = 1 / (1 + np.exp(-logits[:, 0]))
        assert np.allclose(ours, theirs[:, 1], atol=1e-9)
    else:
        ours = np.exp(logits - logits.max(1, keepdims=True))
        assert np.allclose(ours / ours.sum(1, keepdims=True), theirs, atol=1e-9)


def test_coefficients_are_copied():
    model = fitted(MLPRegressor(hidden_layer_sizes=(5,), max_iter=20, random_state=0), Y)
    net = fs.from_sklearn(model)
    assert all(np.array_equal(weight, theirs.T) for weight, theirs in zip(net.weights, model.coefs_))
    assert net.neuron_name(1, 3) == "coefs_.0[2]"


@pytest.mark.parametrize(
    "model, sentence",
    [
        (MLPRegressor(activation="tanh", max_iter=5), "hidden activation 'tanh' is not piecewise linear"),
        (
            make_pipeline(PolynomialFeatures(), MLPRegressor(max_iter=5)),
            r"step polynomialfeatures \(PolynomialFeatures\)",
        ),
    ],
)
def test_others_are_refused(model, sentence):
    with pytest.raises(fs.UnsupportedLayerError, match=sentence):
        fs.from_sklearn(fitted(model, Y))


def test_what_is_no_model_is_refused():
    with pytest.raises(fs.UnsupportedLayerError, match="it is not fitted"):
        fs.from_sklearn(MLPRegressor())
    with pytest.raises(fs.UnsupportedLayerError, match="expected a fitted scikit-learn model, found int"):
        fs.from_sklearn(3)


def test_skl2onnx_gives_the_same():
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    for model, y in [
        (make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(5,), max_iter=20, random_state=0)), Y),
        (make_pipeline(MinMaxScaler(), MLPClassifier(hidden_layer_sizes=(5,), max_iter=20, random_state=0)), LABELS),
        # Two classes: one logit, its probability and the complement of that.
        (MLPClassifier(hidden_layer_sizes=(5,), max_iter=20, random_state=0), LABELS == LABELS[0]),
    ]:
        model = fitted(model, y)
        proto = skl2onnx.to_onnx(model, X[:1].astype(np.float32))
        theirs, ours = fs.from_onnx(proto), fs.from_sklearn(model)
        assert np.allclose(theirs(X), ours(X), rtol=1e-3, atol=1e-3)


def test_steps_that_do_more_are_refused():
    for step in (FunctionTransformer(np.tanh), SimpleImputer(add_indicator=True), SimpleImputer(missing_values=0)):
        model = fitted(make_pipeline(step, LinearRegression()), Y)
        with pytest.raises(fs.UnsupportedLayerError, match=type(step).__name__):
            fs.from_sklearn(model)
