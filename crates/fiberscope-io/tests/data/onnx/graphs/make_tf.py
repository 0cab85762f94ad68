"""Makes exports of Keras models by tf2onnx; adds their answers by onnxruntime to outputs.json.

Run with tensorflow 2.21, Keras 3.15, tf2onnx 1.17, onnx 1.23 and onnxruntime 1.31:

    python make_tf.py

Inputs are images with their channels last, as the models have them; answers are those before a Softmax.
"""

import json
import pathlib

import keras
import numpy as np
import onnx
import onnxruntime
import tensorflow as tf
import tf2onnx
from keras import layers

FOLDER = pathlib.Path(__file__).parent
NEWEST = 18  # of what tf2onnx 1.17 writes


def chain(shape, *parts, batch=1):
    return keras.Sequential([keras.Input(shape, batch_size=batch), *parts])


def residual():
    """Two blocks with batch normalisation, added to what goes around them."""
    x = start = keras.Input([6, 6, 2], batch_size=1)
    x = stem = layers.Conv2D(4, 3, padding="same", activation="relu")(x)
    x = layers.BatchNormalization()(layers.Conv2D(4, 3, padding="same", use_bias=False)(x))
    x = layers.ReLU()(layers.Add()([x, stem]))
    around = layers.Conv2D(3, 1, strides=2)(x)
    x = layers.BatchNormalization()(layers.Conv2D(3, 3, strides=2, padding="same")(x))
    x = layers.ReLU()(layers.Add()([x, around]))
    return keras.Model(start, layers.Dense(2)(layers.GlobalAveragePooling2D()(x)))


def branches():
    """Branches of a picture, joined by their channels and with an upsampled one."""
    start = keras.Input([4, 6, 2], batch_size=1)
    first = layers.Conv2D(2, 3, padding="same", activation="relu")(start)
    second = layers.UpSampling2D(2)(layers.MaxPooling2D(2)(start))
    third = layers.Conv2D(1, 2)(layers.ZeroPadding2D(((1, 0), (0, 1)))(start))
    x = layers.Concatenate()([first, second, third])
    return keras.Model(start, layers.Dense(2)(layers.Flatten()(layers.Conv2D(3, 3, activation="relu")(x))))


def models():
    """Every model with its name and the version it is exported in."""
    dense = layers.Dense
    yield "dense", 13, chain([3], dense(5, "relu"), dense(4, "relu"), dense(2))
    yield "dense_newest", NEWEST, chain([3], dense(5, "relu"), layers.Dropout(0.5), dense(4, "relu"), dense(2), batch=None)
    image = layers.Conv2D(3, 3), layers.BatchNormalization(), layers.ReLU(), layers.Flatten(), dense(2)
    yield "image", 13, chain([5, 5, 2], *image)
    bare = layers.Conv2D(3, 3, strides=2, padding="same"), layers.BatchNormalization(scale=False), layers.ReLU()
    yield "image_of_a_batch", NEWEST, chain([6, 5, 1], *bare, layers.Flatten(), dense(3), batch=None)
    apart = layers.DepthwiseConv2D(3, depth_multiplier=2, padding="same", activation="relu"), layers.SeparableConv2D(3, 3)
    yield "separable", 13, chain([5, 5, 2], *apart, layers.ReLU(6.0), layers.Flatten(), dense(2))
    pools = layers.MaxPooling2D(3, 2, padding="same"), layers.Conv2D(2, 2), layers.AveragePooling2D(2, 1, padding="same")
    yield "pools", 13, chain([7, 6, 1], *pools, layers.GlobalMaxPooling2D(), dense(2))
    yield "pools_newest", NEWEST, chain([7, 6, 1], *pools, layers.GlobalAveragePooling2D(), dense(2), batch=None)
    slopes = layers.PReLU(alpha_initializer="random_normal", shared_axes=[1, 2]), layers.Conv2D(2, 2)
    bends = layers.LeakyReLU(negative_slope=0.2), layers.Flatten(), layers.PReLU(alpha_initializer="random_normal")
    yield "bends", 13, chain([4, 4, 1], layers.Conv2D(3, 2), *slopes, *bends, dense(3), layers.ReLU(max_value=6.0), dense(2))
    yield "residual", NEWEST, residual()
    yield "branches", 13, branches()
    transposed = layers.Conv2DTranspose(2, 3, strides=2, padding="same", activation="relu"), layers.Cropping2D(1)
    yield "transposed", NEWEST, chain([3, 3, 2], *transposed, layers.Permute((3, 1, 2)), layers.Flatten(), dense(2))
    line = layers.Conv1D(3, 3, padding="causal", activation="relu"), layers.MaxPooling1D(2), layers.Reshape((9,))
    yield "line", 13, chain([6, 2], *line, dense(3))
    yield "softmax", 13, chain([3], dense(4, "relu"), dense(3, "softmax"))
    convolution = layers.Conv2D(3, 2, activation="relu"), layers.GlobalAveragePooling2D()
    yield "softmax_newest", NEWEST, chain([4, 4, 1], *convolution, dense(3, "softmax"), batch=None)


def trained(model, random):
    """Every number that begins as zero or one becomes another, as after training."""
    for weight in model.weights:
        old = np.asarray(weight)
        if "seed" not in weight.path and old.size and np.ptp(old) == 0:
            weight.assign(old + random.uniform(0.1, 0.6, old.shape))


def cases(file, random):
    """Three inputs and what onnxruntime makes of them, before a Softmax."""
    model = onnx.load(file)
    names = [node.input[0] for node in model.graph.node if node.op_type == "Softmax"] or [model.graph.output[0].name]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name != model.graph.output[0].name)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (value,) = session.get_inputs()
    shape = [size if isinstance(size, int) else 1 for size in value.shape]
    for _ in range(3):
        x = random.standard_normal(shape).astype(np.float32)
        (y,) = session.run(names, {value.name: x})
        yield {"input": [float(v) for v in x.flat], "output": [float(v) for v in y.flat]}


if __name__ == "__main__":
    outputs, random = json.loads((FOLDER / "outputs.json").read_text()), np.random.default_rng(13)
    for name, version, model in models():
        keras.utils.set_random_seed(13)
        fresh = keras.models.clone_model(model)
        trained(fresh, random)
        signature = [tf.TensorSpec(fresh.input_shape, tf.float32, name="x")]
        file = FOLDER / f"tf_{name}.onnx"
        call = tf.function(lambda x: tf.identity(fresh(x, training=False), "y"), input_signature=signature)
        tf2onnx.convert.from_function(call, input_signature=signature, opset=version, output_path=str(file))
        outputs[file.name] = list(cases(file, random))
    lines = [f"  {json.dumps(name)}: {json.dumps(outputs[name])}" for name in sorted(outputs)]
    (FOLDER / "outputs.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
