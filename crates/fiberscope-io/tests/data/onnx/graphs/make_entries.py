"""Makes graphs that take, mix and interpolate entries, and graphs whose weights are computed; adds their answers to
outputs.json.

Run with onnx 1.23 and onnxruntime 1.31, after make_versions.py:

    python make_entries.py
"""

import json

import numpy as np
from make_batches import FOLDER, cases, floats, integers
from make_versions import save
from onnx.helper import make_node


def chain(*steps):
    """Nodes one behind the other, from `x` to `y`: an operator, its other inputs, its attributes."""
    names = ["x", *(f"v{at}" for at in range(1, len(steps))), "y"]
    return [
        make_node(operator, [before, *others], [after], **attributes)
        for (operator, others, attributes), before, after in zip(steps, names, names[1:])
    ]


def interpolated(random):
    kernel = {"k": floats(random.standard_normal([4, 1, 2, 2]))}
    by_scales, to_sizes = {"s": floats([1, 1, 2, 1.5])}, {"to": integers([1, 1, 7, 3])}
    image = [1, 1, 4, 5]
    conv, relu, empty = ("Conv", ["k"], {}), ("Relu", [], {}), ""
    for mode in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
        grow = ("Resize", [empty, "s"], {"mode": "linear", "coordinate_transformation_mode": mode})
        yield save(f"linear_{mode}", 13, chain(conv, relu, grow, relu), kernel | by_scales, image)
    shrink = ("Resize", [empty, empty, "to"], {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"})
    # An affine layer behind another one.
    corners = ("Resize", [empty, "s"], {"mode": "linear", "coordinate_transformation_mode": "align_corners"})
    yield save("linear_behind_a_convolution", 13, chain(conv, corners), kernel | by_scales, [1, 1, 8, 8])
    # Three axes with weights that are no short fractions.
    deep = {"s": floats([1, 1, 1.3, 1.7, 2.3])}
    swell = ("Resize", [empty, "s"], {"mode": "linear", "coordinate_transformation_mode": "half_pixel"})
    yield save("linear_three_axes", 18, chain(swell, relu), deep, [1, 1, 2, 3, 2])
    yield save("linear_to_sizes", 17, chain(shrink), to_sizes, image)
    old = [make_node("Upsample", ["x", "s"], ["y"], mode="linear")]
    yield save("linear_9", 9, old, by_scales, image)
    for mode in ("CRD", "DCR"):
        blocks = [conv, ("DepthToSpace", [], {"blocksize": 2, "mode": mode}), relu, ("SpaceToDepth", [], {"blocksize": 2})]
        yield save(f"blocks_{mode.lower()}", 13, chain(*blocks), kernel, image)


def mixed(random):
    """Entries of two values, chosen by constants."""
    mask = np.array([True, False, True, False])
    nodes = [
        make_node("Gemm", ["x", "w"], ["h"]),
        make_node("Relu", ["h"], ["r"]),
        make_node("Less", ["few", "two"], ["is_few"]),
        make_node("Not", ["is_few"], ["is_many"]),
        make_node("And", ["is_many", "mask"], ["which"]),
        make_node("Where", ["which", "h", "r"], ["a"]),
        make_node("Where", ["mask", "a", "x"], ["b"]),
        make_node("GatherElements", ["b", "places"], ["c"], axis=1),
        make_node("ScatterElements", ["b", "places", "c"], ["d"], axis=-1),
        make_node("ScatterND", ["d", "blocks", "numbers"], ["y"]),
    ]
    constants = {
        "w": floats(random.standard_normal([4, 4])),
        "few": floats([0, 1, 2, 3]),
        "two": floats(2),
        "mask": mask,
        "places": integers([[3, -4, 1]]),
        "blocks": integers([[0, 2]]),
        "numbers": floats([0.25]),
    }
    yield save("mixed", 16, nodes, constants, [1, 4])
    last = integers(2)
    sums = [("CumSum", ["axis"], {}), ("Relu", [], {}), ("CumSum", ["axis"], {"exclusive": 1, "reverse": 1})]
    yield save("sums_before", 14, chain(*sums), {"axis": last}, [1, 2, 3])
    upper, lower = ("Trilu", ["k"], {"upper": 1}), ("Trilu", [], {"upper": 0})
    yield save("triangles", 14, chain(upper, ("Relu", [], {}), lower), {"k": integers(-1)}, [1, 3, 4])


def computed(random):
    """Weights that are computed from constants: positive ones, bounded ones, and shapes with a remainder and an empty part."""
    nodes = [
        make_node("Relu", ["w"], ["positive"]),
        make_node("Clip", ["positive", "low", "high"], ["bounded"]),
        make_node("LeakyRelu", ["b"], ["leaky"], alpha=0.25),
        make_node("Max", ["leaky", "low"], ["bias"]),
        make_node("Gemm", ["x", "bounded", "bias"], ["h"]),
        make_node("Shape", ["h"], ["shape"]),
        make_node("Mod", ["shape", "three"], ["rest"]),
        make_node("Slice", ["shape", "two", "two"], ["nothing"]),
        make_node("Slice", ["rest", "zero", "one"], ["first"]),
        make_node("Concat", ["first", "nothing", "minus"], ["to"], axis=0),
        make_node("Reshape", ["h", "to"], ["y"]),
    ]
    constants = {
        "w": floats(random.standard_normal([3, 4])),
        "b": floats(random.standard_normal(4)),
        "low": floats(0.1),
        "high": floats(0.9),
        "three": integers(3),
        "zero": integers([0]),
        "one": integers([1]),
        "two": integers([2]),
        "minus": integers([2, -1]),
    }
    yield save("computed_weights", 18, nodes, constants, [1, 3])


if __name__ == "__main__":
    outputs, random = json.loads((FOLDER / "outputs.json").read_text()), np.random.default_rng(11)
    for name in [*interpolated(random), *mixed(random), *computed(random)]:
        outputs[f"{name}.onnx"] = list(cases(name, random))[:3]
    lines = [f"  {json.dumps(name)}: {json.dumps(outputs[name])}" for name in sorted(outputs)]
    (FOLDER / "outputs.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
