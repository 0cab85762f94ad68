"""Makes the files of this folder with Keras 3 (any backend): `python make.py`."""

import json

import keras
import numpy as np

L = keras.layers
keras.utils.set_random_seed(0)
cnn = keras.Sequential(
    [L.Input((6, 5, 2)), L.Conv2D(3, 3, padding="same", strides=2), L.BatchNormalization(), L.ReLU(), L.MaxPooling2D(2), L.Flatten(),
     L.Dense(4, activation="relu"), L.Dense(2)]
)  # fmt: skip
cnn.layers[1].set_weights(
    [np.array(each, dtype=np.float32) for each in ([1, 2, -1], [0, 1, 0.5], [0.1, -0.2, 0.3], [1, 2, 0.5])]
)
inputs = L.Input((4,))
first = L.Dense(6, activation="relu")(inputs)
residual = keras.Model(inputs, L.Dense(2)(L.ReLU()(L.Add()([first, L.Dense(6)(first)]))))
answers = {}
for name, model in [("cnn", cnn), ("residual", residual)]:
    x = np.random.default_rng(0).normal(size=(3, *model.input_shape[1:])).astype(np.float32)
    answers[name] = {"x": x.reshape(3, -1).tolist(), "y": np.asarray(model.predict(x, verbose=0)).tolist()}
    for ending in ("keras", "h5"):
        model.save(f"{name}.{ending}")
with open("answers.json", "w") as file:
    json.dump(answers, file)
