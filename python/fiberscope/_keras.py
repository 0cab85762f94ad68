"""Keras files (.keras, .h5) as ONNX graphs: Sequential and Functional models of dense, convolutional and pooling layers.

The configuration is JSON and the weights are HDF5, which `h5py` reads; Keras itself is not needed and nothing in a file is
run. What a model is in ONNX says `_keras_model`, what its layers are `_keras_layers`.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from . import _keras_layers  # noqa: F401  it registers what layers mean
from ._keras_model import MODELS, Model
from .errors import ModelFileError, UnsupportedLayerError

MOST_CONFIG = 1 << 26
"""More bytes than the configuration of a model that can be read has."""


def onnx_model(path: str) -> tuple[bytes, str, str, list[str]]:
    """The model of a file as the bytes of an ONNX model, its name, the name of its output, and notes."""
    try:
        import h5py
    except ImportError as error:
        raise ModelFileError(
            f"{path}: Keras files are read with h5py (pip install h5py), or export the model: model.export('model.onnx', format='onnx')"
        ) from error
    if not Path(path).exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    try:
        if zipfile.is_zipfile(path):
            config, weights = _zipped(path)
            with h5py.File(io.BytesIO(weights), "r") as file:
                made = Model(config, _Kept(file, config)).graph()
        else:
            with h5py.File(path, "r") as file:
                if "model_config" not in file.attrs:
                    raise ModelFileError(
                        f"{path}: it holds weights without the layers they belong to; save the whole model with model.save('model.keras')"
                    )
                config = _parsed(file.attrs["model_config"])
                made = Model(config, _Legacy(file)).graph()
    except (UnsupportedLayerError, ModelFileError) as error:
        text = str(error)
        raise type(error)(text if text.startswith(path) else f"{path}: {text}") from None
    except (
        OSError, zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, IndexError, RecursionError
    ) as error:  # fmt: skip
        raise ModelFileError(
            f"{path}: it is no Keras model that can be read ({type(error).__name__}: {error})"
        ) from None
    return made, path, "output", []


def _zipped(path: str) -> tuple[Any, bytes]:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        for name in ("config.json", "model.weights.h5"):
            if name not in names:
                raise ModelFileError(f"{path}: expected {name} in it, as model.save('model.keras') writes it")
        if archive.getinfo("config.json").file_size > MOST_CONFIG:
            raise ModelFileError(f"{path}: its config.json is larger than {MOST_CONFIG} bytes")
        size, packed = (getattr(archive.getinfo("model.weights.h5"), key) for key in ("file_size", "compress_size"))
        if size > 64 * max(packed, 1 << 20):
            raise ModelFileError(f"{path}: model.weights.h5 unpacks to {size} bytes, which weights do not")
        return _parsed(archive.read("config.json")), archive.read("model.weights.h5")


def _parsed(text: Any) -> Any:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ModelFileError("expected the configuration of a model")
    return found


def _snake(name: str) -> str:
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def _numbered(group: Any) -> list[np.ndarray]:
    return [np.asarray(group[key]) for key in sorted(group, key=int)]


class _Kept:
    """The weights of a .keras file, by the names of layers."""

    def __init__(self, file: Any, config: Any) -> None:
        self.places: dict[str, Any] = {}
        self.models: dict[str, tuple[Any, Any]] = {}
        layers = file["layers"] if "layers" in file else file["_layer_checkpoint_dependencies"]
        named = {}
        for key in layers:
            group = layers[key]
            name = group["vars"].attrs.get("name") if "vars" in group else None
            if name is not None:
                named[name.decode() if isinstance(name, bytes) else str(name)] = group
        counts: dict[str, int] = {}
        for layer in config["config"]["layers"]:
            kind, name = _snake(layer["class_name"]), layer["config"]["name"]
            at = counts.get(kind, 0)
            counts[kind] = at + 1
            key = f"{kind}_{at}" if at else kind
            # Files of older versions do not name their layers: they count them by class.
            group = named.get(name) if named else layers.get(key)
            if group is None:
                continue
            if layer["class_name"] in MODELS:
                self.models[name] = group, layer
            elif "vars" in group:
                self.places[name] = group["vars"]

    def of(self, name: str) -> list[np.ndarray]:
        return _numbered(self.places[name]) if name in self.places else []

    def inside(self, name: str) -> _Kept:
        if name not in self.models:
            raise ModelFileError(f"layer {name}: its weights are missing")
        return _Kept(*self.models[name])


class _Legacy:
    """The weights of a .h5 file."""

    def __init__(self, file: Any, model: str | None = None) -> None:
        self.group = file["model_weights"] if model is None else file
        self.model = model

    def of(self, name: str) -> list[np.ndarray]:
        group = name if self.model is None else self.model
        if group not in self.group:
            return []
        own = self.group[group]
        keys = [each.decode() if isinstance(each, bytes) else str(each) for each in own.attrs["weight_names"]]
        if self.model is not None:
            # The weights of all layers of an inner model stand in one list.
            keys = [key for key in keys if name in key.split("/")[-2:-1]]
        return [np.asarray(own[key]) for key in keys]

    def inside(self, name: str) -> _Legacy:
        return _Legacy(self.group, name if self.model is None else self.model)
