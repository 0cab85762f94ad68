"""Makes graphs whose results have sizes that the file states (ConvTranspose, Resize along some axes); adds their answers to
outputs.json.

Run with onnx 1.23 and onnxruntime 1.31, after make_entries.py:

    python make_sizes.py
"""

import json

import numpy as np
from make_batches import FOLDER, cases, floats, integers
from make_entries import chain
from make_versions import save


def transposed(random):
    kernel = {"k": floats(random.standard_normal([2, 3, 3, 2])), "b": floats(random.standard_normal(3))}
    image, relu = [1, 2, 3, 4], ("Relu", [], {})
    kinds = {
        "same_upper": {"auto_pad": "SAME_UPPER", "strides": [2, 1]},
        "same_lower": {"auto_pad": "SAME_LOWER", "strides": [2, 3]},
        "valid": {"auto_pad": "VALID", "strides": [1, 2], "dilations": [2, 1]},
        "to_sizes": {"output_shape": [6, 6], "strides": [2, 2]},
        "to_sizes_upper": {"auto_pad": "SAME_UPPER", "output_shape": [4, 7], "strides": [2, 2], "output_padding": [1, 0]},
    }
    for name, attributes in kinds.items():
        yield save(f"transposed_{name}", 13, chain(("ConvTranspose", ["k", "b"], attributes), relu), kernel, image)


def along_axes(random):
    kernel, image = {"k": floats(random.standard_normal([2, 1, 2, 2]))}, [1, 1, 4, 5]
    relu, conv, empty = ("Relu", [], {}), ("Conv", ["k"], {}), ""
    grow = ("Resize", [empty, "s"], {"mode": "linear", "axes": [-1, 2]})
    yield save("resized_along_axes", 18, chain(conv, relu, grow), kernel | {"s": floats([2, 1.5])}, image)
    shrink = ("Resize", [empty, empty, "to"], {"mode": "nearest", "axes": [3]})
    yield save("resized_along_an_axis", 19, chain(conv, relu, shrink), kernel | {"to": integers([3])}, image)


if __name__ == "__main__":
    outputs, random = json.loads((FOLDER / "outputs.json").read_text()), np.random.default_rng(17)
    for name in [*transposed(random), *along_axes(random)]:
        outputs[f"{name}.onnx"] = list(cases(name, random))[:3]
    lines = [f"  {json.dumps(name)}: {json.dumps(outputs[name])}" for name in sorted(outputs)]
    (FOLDER / "outputs.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
