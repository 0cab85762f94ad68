"""Makes the files of this folder with Keras 3 (any backend): `python make.py`."""

import json

import numpy as np


def main() -> None:
    import keras

    layers = keras.layers
    keras.utils.set_random_seed(0)
    cnn = keras.Sequential(
        [
            layers.Input((6, 5, 2)),
            layers.Conv2D(3, 3, padding="same", strides=2),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dense(4, activation="relu"),
            layers.Dense(2),
        ]
    )
    statistics = [1, 2, -1], [0, 1, 0.5], [0.1, -0.2, 0.3], [1, 2, 0.5]
    cnn.layers[1].set_weights([np.array(each, dtype=np.float32) for each in statistics])
    inputs = layers.Input((4,))
    first = layers.Dense(6, activation="relu")(inputs)
    joined = layers.Add()([first, layers.Dense(6)(first)])
    residual = keras.Model(inputs, layers.Dense(2)(layers.ReLU()(joined)))
    wide = keras.Sequential(
        [
            layers.Input((6, 5, 2)),
            layers.Normalization(mean=[0.5, -0.25], variance=[2.0, 0.5]),
            layers.SeparableConv2D(3, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2DTranspose(2, 3, strides=2, padding="same"),
            layers.ReLU(),
            layers.Cropping2D(((1, 0), (0, 2))),
            layers.Flatten(),
            layers.Reshape((10, 4)),
            layers.Conv1D(2, 2, padding="causal", dilation_rate=2, activation="relu"),
            layers.Flatten(),
            layers.Dense(3),
        ]
    )
    image = layers.Input((3, 3, 2))
    base = keras.Sequential(
        [layers.Input((3, 3, 2)), layers.Conv2D(2, 3, padding="same"), layers.BatchNormalization(), layers.ReLU()],
        name="base",
    )
    block = keras.Model(image, layers.Add()([image, base(image)]), name="block")
    nested = keras.Sequential(
        [
            layers.Input((3, 3, 2)),
            block,
            layers.Flatten(),
            layers.RepeatVector(2),
            layers.Flatten(),
            layers.Dense(2),
        ]
    )
    numbers = np.random.default_rng(0)
    for each in nested.weights:
        is_variance = "variance" in each.path
        each.assign(numbers.uniform(0.5, 2, each.shape) if is_variance else numbers.normal(size=each.shape))
    answers = {}
    for name, model in [("cnn", cnn), ("residual", residual), ("wide", wide), ("nested", nested)]:
        x = np.random.default_rng(0).normal(size=(3, *model.input_shape[1:])).astype(np.float32)
        answers[name] = {"x": x.reshape(3, -1).tolist(), "y": np.asarray(model.predict(x, verbose=0)).tolist()}
        for ending in ("keras", "h5"):
            model.save(f"{name}.{ending}")
    with open("answers.json", "w") as file:
        json.dump(answers, file)


if __name__ == "__main__":
    main()
