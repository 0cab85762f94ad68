"""scikit-learn models as ONNX graphs: multilayer perceptrons and linear models behind scalers.

Coefficients are doubles and stay what they are. A scaler is a difference and a quotient by constants, which the reader of
graphs folds into weights, with a note where that rounds. scikit-learn itself is not imported: models are told by their
classes and fitted attributes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._onnx import Graph
from .errors import UnsupportedLayerError

_LINEAR = (
    "LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "Lars", "SGDRegressor", "LinearSVR",
    "HuberRegressor", "BayesianRidge", "LogisticRegression", "LogisticRegressionCV", "SGDClassifier", "LinearSVC", "Perceptron",
    "RidgeClassifier", "LinearDiscriminantAnalysis",
)  # fmt: skip


def onnx_model(model: Any) -> tuple[bytes, str, str, list[str]]:
    """A fitted model as the bytes of an ONNX model, its name, the name of its output, and notes."""
    chain = _Chain()
    inputs = chain.inputs(model)
    value = chain.graph.input("input", [1, inputs], "float64")
    value = chain.model(model, value)
    chain.graph.node("Identity", "output", [value], "output")
    return chain.graph.model(["output"]), type(model).__name__, "output", chain.notes


class _Chain:
    """One step after the other."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.notes: list[str] = []
        self._count = 0

    def inputs(self, model: Any) -> int:
        found = getattr(model, "n_features_in_", None)
        if found is None:
            kind = type(model).__name__
            if not type(model).__module__.startswith("sklearn") and not hasattr(model, "get_params"):
                raise UnsupportedLayerError(f"expected a fitted scikit-learn model, found {kind}")
            raise UnsupportedLayerError(f"{kind}: it is not fitted; call fit first")
        return int(found)

    def node(self, operator: str, name: str, inputs: list[str], **attributes: Any) -> str:
        self._count += 1
        return self.graph.node(operator, name, inputs, f"%{self._count}", **attributes)

    def constant(self, name: str, values: Any) -> str:
        self._count += 1
        array = np.asarray(values)
        kind = np.float32 if array.dtype == np.float32 else np.float64
        return self.graph.constant(name if "." in name else f"{name}.{self._count}", array.astype(kind))

    # Models.

    def model(self, model: Any, value: str, path: str = "") -> str:
        kind = type(model).__name__
        if kind == "Pipeline":
            for name, step in model.steps:
                last = step is model.steps[-1][1]
                value = (self.model if last else self.transformer)(step, value, f"{path}{name}.")
            return value
        if kind in ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"):
            if not hasattr(model, "best_estimator_"):
                raise self.refuse(path, kind, "it has no best estimator; call fit with refit=True")
            return self.model(model.best_estimator_, value, path)
        if kind == "TransformedTargetRegressor":
            value = self.model(model.regressor_, value, f"{path}regressor.")
            return self.inverse(model.transformer_, value, f"{path}transformer.")
        if kind in ("MLPClassifier", "MLPRegressor"):
            return self.perceptron(model, value, path)
        if kind in _LINEAR:
            return self.linear_model(model, value, path)
        return self.transformer(model, value, path)

    def perceptron(self, model: Any, value: str, path: str) -> str:
        kind = type(model).__name__
        if model.activation not in ("relu", "identity"):
            raise self.refuse(
                path,
                kind,
                f"its hidden activation {model.activation!r} is not piecewise linear; expected relu or identity",
            )
        last = len(model.coefs_) - 1
        for at, (weight, bias) in enumerate(zip(model.coefs_, model.intercepts_)):
            value = self.affine(f"{path}coefs_.{at}", np.asarray(weight).T, bias, value)
            if at < last and model.activation == "relu":
                value = self.node("Relu", f"{path}relu.{at}", [value])
        return self.head(model.out_activation_, value, f"{path}out_activation_")

    def linear_model(self, model: Any, value: str, path: str) -> str:
        coefficients = np.atleast_2d(np.asarray(model.coef_))
        bias = np.broadcast_to(np.asarray(model.intercept_, dtype=coefficients.dtype), (len(coefficients),))
        value = self.affine(f"{path}coef_", coefficients, bias, value)
        kind = type(model).__name__
        if kind.startswith("LogisticRegression"):
            return self.head("logistic" if len(coefficients) == 1 else "softmax", value, f"{path}predict_proba")
        if hasattr(model, "classes_"):
            self.notes.append(f"{path}{kind}: the outputs are its decision function")
        return value

    def affine(self, name: str, weight: Any, bias: Any, value: str) -> str:
        given = [value, self.constant(f"{name}.weight", weight), self.constant(f"{name}.bias", np.asarray(bias))]
        return self.node("Gemm", name, given, transB=1)

    def head(self, activation: str, value: str, name: str) -> str:
        words = {"softmax": "Softmax", "logistic": "Sigmoid"}
        if activation == "identity":
            return value
        if activation not in words:
            raise UnsupportedLayerError(f"{name}: the output activation {activation!r} is not read")
        return self.node(words[activation], name, [value])

    # Transformers.

    def transformer(self, step: Any, value: str, path: str) -> str:
        kind = type(step).__name__
        if step is None or step == "passthrough":
            return value
        rule = getattr(self, f"_{kind}", None)
        if rule is None:
            raise self.refuse(
                path,
                kind,
                "it is not read; scalers, PCA and selections of features are, in front of an MLP or a linear model",
            )
        self.inputs(step)
        made: str = rule(step, value, path.rstrip("."))
        return made

    def refuse(self, path: str, kind: str, reason: str) -> UnsupportedLayerError:
        where = f"step {path.rstrip('.')} ({kind})" if path else kind
        return UnsupportedLayerError(f"{where}: {reason}")

    def minus(self, name: str, value: str, by: Any) -> str:
        return value if by is None else self.node("Sub", name, [value, self.constant(f"{name}.mean", by)])

    def over(self, name: str, value: str, by: Any) -> str:
        return value if by is None else self.node("Div", name, [value, self.constant(f"{name}.scale", by)])

    def _StandardScaler(self, step: Any, value: str, name: str) -> str:
        centred = self.minus(name, value, step.mean_ if step.with_mean else None)
        return self.over(name, centred, step.scale_ if step.with_std else None)

    def _RobustScaler(self, step: Any, value: str, name: str) -> str:
        centred = self.minus(name, value, step.center_ if step.with_centering else None)
        return self.over(name, centred, step.scale_ if step.with_scaling else None)

    def _MaxAbsScaler(self, step: Any, value: str, name: str) -> str:
        return self.over(name, value, step.scale_)

    def _MinMaxScaler(self, step: Any, value: str, name: str) -> str:
        scaled = self.node("Mul", name, [value, self.constant(f"{name}.scale", step.scale_)])
        value = self.node("Add", name, [scaled, self.constant(f"{name}.min", step.min_)])
        if getattr(step, "clip", False):
            low, high = (
                self.constant(f"{name}.range{at}", np.float64(each)) for at, each in enumerate(step.feature_range)
            )
            value = self.node("Clip", name, [value, low, high])
        return value

    def _PCA(self, step: Any, value: str, name: str) -> str:
        value = self.minus(name, value, step.mean_)
        turned = self.constant(f"{name}.components.weight", np.asarray(step.components_).T)
        value = self.node("MatMul", name, [value, turned])
        return self.over(name, value, np.sqrt(step.explained_variance_)) if step.whiten else value

    def _select(self, step: Any, value: str, name: str) -> str:
        places = np.flatnonzero(step.get_support()).astype(np.int64)
        return self.node("Gather", name, [value, self.graph.constant(f"{name}.support", places)], axis=1)

    _VarianceThreshold = _SelectKBest = _SelectPercentile = _SelectFromModel = _RFE = _RFECV = _select

    def _Pipeline(self, step: Any, value: str, name: str) -> str:
        for inner, each in step.steps:
            value = self.transformer(each, value, f"{name}.{inner}.")
        return value

    def _FunctionTransformer(self, step: Any, value: str, name: str) -> str:
        if step.func is not None:
            raise self.refuse(name, type(step).__name__, "it applies a function of its own")
        return value

    def _SimpleImputer(self, step: Any, value: str, name: str) -> str:
        kind = type(step).__name__
        if step.add_indicator or not _is_nan(step.missing_values) or any(map(_is_nan, step.statistics_)):
            raise self.refuse(name, kind, "it does more than to fill in numbers that are missing (NaN)")
        self.notes.append(f"{name} ({kind}): numbers that are missing (NaN) are not read; others pass as they are")
        return value

    def _FeatureUnion(self, step: Any, value: str, name: str) -> str:
        if step.transformer_weights:
            raise self.refuse(name, type(step).__name__, "its weights are not read")
        parts = [(inner, each) for inner, each in step.transformer_list if each != "drop"]
        made = [self.transformer(each, value, f"{name}.{inner}.") for inner, each in parts]
        return self.node("Concat", name, made, axis=1)

    def _ColumnTransformer(self, step: Any, value: str, name: str) -> str:
        if step.transformer_weights:
            raise self.refuse(name, type(step).__name__, "its weights are not read")
        names = list(getattr(step, "feature_names_in_", ()))
        made = []
        for inner, each, columns in step.transformers_:
            places = _places(columns, names, int(step.n_features_in_))
            if isinstance(each, str) and each == "drop" or not places.size:
                continue
            given = [value, self.graph.constant(f"{name}.{inner}.columns", places)]
            made.append(self.transformer(each, self.node("Gather", name, given, axis=1), f"{name}.{inner}."))
        if not made:
            raise self.refuse(name, type(step).__name__, "it drops all columns")
        return self.node("Concat", name, made, axis=1)

    def inverse(self, step: Any, value: str, path: str) -> str:
        """What undoes a scaler of targets."""
        kind, name = type(step).__name__, path.rstrip(".")
        if kind == "FunctionTransformer" and step.inverse_func is None and step.func is None:
            return value
        if kind == "StandardScaler":
            scale, shift = step.scale_ if step.with_std else None, step.mean_ if step.with_mean else None
        elif kind == "MinMaxScaler":
            scale, shift = 1 / step.scale_, -step.min_ / step.scale_
            self.notes.append(f"{name} ({kind}): its inverse was rounded to doubles")
        else:
            raise self.refuse(path, kind, "its inverse is not read; StandardScaler and MinMaxScaler of targets are")
        if scale is not None:
            value = self.node("Mul", name, [value, self.constant(f"{name}.scale", scale)])
        return value if shift is None else self.node("Add", name, [value, self.constant(f"{name}.shift", shift)])


def _is_nan(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _places(columns: Any, names: list[str], count: int) -> np.ndarray:
    """The columns that are chosen, by numbers, names, a mask or a slice of either."""
    if isinstance(columns, slice):
        ends: list[Any] = [names.index(end) if isinstance(end, str) else end for end in (columns.start, columns.stop)]
        if isinstance(columns.stop, str):
            ends[1] += 1
        return np.arange(count)[slice(ends[0], ends[1], columns.step)]
    chosen: list[Any] = [columns] if isinstance(columns, (str, int, np.integer)) else list(columns)
    if chosen and isinstance(chosen[0], (bool, np.bool_)):
        return np.flatnonzero(chosen)
    numbers = [names.index(each) if isinstance(each, str) else int(each) for each in chosen]
    return np.arange(count)[numbers] if numbers else np.arange(0)
