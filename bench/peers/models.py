"""Reads every ONNX file of a folder with the command, and holds what was read against onnxruntime.

Usage: models.py FIBERSCOPE FOLDER [SECONDS] [CSV]

`fiberscope answer` is run on every `.onnx` file below FOLDER, however deep, within SECONDS (60) and 6 GB: the file is
read, read when one of several outputs is named, refused with a reason, or out of time. What is read is evaluated at
three random points and compared with onnxruntime without its optimisations (relative 1e-4 of the largest output);
where onnxruntime does not run a file, with the example that ONNX's own tests store beside it. A final softmax and its
like are taken away on both sides. The table goes to standard output, a line for each file to CSV.
"""

import collections
import csv
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

HEADS = {"Softmax", "LogSoftmax", "Sigmoid", "ArgMax", "ZipMap", "ArrayFeatureExtractor"}
# What may stand behind a head and changes no number.
SHAPES = {"Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze"}
KINDS = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
}
POINTS = 3
TOLERANCE = 1e-4
MEMORY = 6 << 30


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def answer(program, file, seconds, options=(), points=()):
    """The exit code (none: out of time), the lines of the answer, the error, and seconds of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with tempfile.TemporaryFile() as given:
        for row in points:
            given.write(json.dumps({"inputs": [row.tolist()]}).encode() + b"\n")
        given.seek(0)
        try:
            done = subprocess.run(
                [program, "answer", file, *options],
                stdin=given,
                capture_output=True,
                timeout=seconds,
                preexec_fn=limit_memory,
            )
            code, out, error = done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired:
            code, out, error = None, "", ""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return code, out.splitlines(), error.strip(), spent


def reason(file, error):
    """An error without the names and numbers of one file."""
    error = error.replace(f"fiberscope: {file}: ", "").splitlines()
    text = error[0] if error else "no message"
    text = re.sub(r"^node `[^`]*` \((\S+)\): ", r"\1: ", text)
    text = re.split(r"; the value before it|, but either|, and \d+ were taken", re.sub(r"`[^`]*`", "`..`", text))[0]
    return re.sub(r"-?\d[\d,.]*( x -?\d+)*", "N", text)


def before_heads(model, output):
    """The name of the value that the command speaks of."""
    made = {name: node for node in model.graph.node for name in node.output}
    name = step = output
    while step in made and made[step].op_type in HEADS | SHAPES:
        is_head = made[step].op_type in HEADS
        step = made[step].input[0]
        name = step if is_head else name
    return name


def fed(point, inputs, shapes, batched):
    """The point as the inputs of onnxruntime, repeated where the file has a batch; none if it does not fit."""
    feed, at = {}, 0
    for value in inputs:
        shape, kind = shapes[value.name]
        shape = [size if isinstance(size, int) and size > 0 else 1 for size in shape]
        own = shape[1:] if batched else shape
        size = int(np.prod(own))
        one = point[at : at + size]
        if len(one) != size:
            return None
        feed[value.name] = np.broadcast_to(one.reshape(own), shape).astype(KINDS[kind])
        at += size
    return feed if at == len(point) else None


def theirs(file, points, wanted=None):
    """onnxruntime's outputs at the points."""
    model = onnx.load(file)
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in constants]
    outputs = [value.name for value in model.graph.output]
    names = {before_heads(model, name) for name in ([wanted] if wanted else outputs)}
    if len(names) != 1:
        raise ValueError("several outputs")
    (name,) = names
    if name not in outputs:
        del model.graph.output[:]
        model.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    is_whole = model.ByteSize() < 1 << 30
    session = onnxruntime.InferenceSession(
        model.SerializeToString() if is_whole else str(file), options, providers=["CPUExecutionProvider"]
    )
    shapes = {value.name: (value.shape, value.type) for value in session.get_inputs()}
    rows = []
    for point in points:
        batched, feed = False, fed(point, inputs, shapes, False)
        if feed is None:
            batched, feed = True, fed(point, inputs, shapes, True)
        if feed is None:
            raise ValueError(f"{len(point)} numbers do not fit {[shape for shape, _ in shapes.values()]}")
        row = np.asarray(session.run([name], feed)[0], dtype=np.float64).reshape(-1)
        samples = shapes[inputs[0].name][0][0] if batched else 1
        rows.append(row[: row.size // samples] if isinstance(samples, int) else row)
    return rows


def stored(file, width):
    """The example that ONNX's own tests keep beside a model, if its inputs are what was read, or a batch of it."""
    found = []
    for kind in ("input", "output"):
        tensors = []
        for part in sorted((file.parent / "test_data_set_0").glob(f"{kind}_*.pb")):
            tensor = onnx.TensorProto()
            tensor.ParseFromString(part.read_bytes())
            tensors.append(onnx.numpy_helper.to_array(tensor).astype(np.float64))
        found.append(tensors)
    inputs, outputs = found
    if len(outputs) != 1 or not inputs:
        return None
    flat = np.concatenate([value.reshape(-1) for value in inputs])
    batch = max(flat.size // width, 1)
    if flat.size != batch * width or (batch > 1 and (len(inputs) > 1 or inputs[0].shape[0] != batch)):
        return None
    return flat[:width].astype(np.float32), outputs[0].reshape(-1)[: outputs[0].size // batch]


def far(ours, theirs):
    """How far apart two outputs are, as a part of the largest."""
    if ours.shape != theirs.shape:
        return np.inf
    return float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-6)) if theirs.size else 0.0


def compared(program, file, seconds, options, points):
    """Equal, different, or not run by onnxruntime; and how far apart, or why not."""

    def ours(points):
        code, lines, error, _ = answer(program, str(file), 4 * seconds, options, points)
        if code != 0 or len(lines) != len(points) + 1:
            raise RuntimeError(f"no evaluation: {error[:100]}")
        return [np.array(json.loads(line)["outputs"][0]) for line in lines[1:]]

    try:
        pairs = zip(ours(points), theirs(file, points, options[1] if options else None), strict=True)
        worst = max(far(mine, row) for mine, row in pairs)
    except Exception as error:  # noqa: BLE001  whatever onnxruntime refuses a file with
        example = stored(file, len(points[0]))
        if example is None:
            return "not run", str(error).splitlines()[0][:160]
        worst = far(ours([example[0]])[0], example[1])
    return ("equal" if worst <= TOLERANCE else "different"), f"{worst:.1e}"


def examine(program, file, seconds, rng):
    """What became of a file: read or not, why not, compared with what result, and the seconds to read it."""
    options = []
    code, lines, error, spent = answer(program, str(file), seconds)
    if code not in (0, None) and "several outputs" in error:
        for output in onnx.load(file, load_external_data=False).graph.output:
            again = answer(program, str(file), seconds, ["--output", output.name])
            if again[0] == 0:
                options = ["--output", output.name]
                code, lines, _, spent = again
                break
    if code is None:
        return "out of time", "", "", "", spent
    if code != 0:
        return ("refused" if code == 2 else f"exit code {code}"), reason(file, error), "", "", spent
    width = json.loads(lines[0])["inputs"]
    points = rng.uniform(-1, 1, (POINTS, width)).astype(np.float32)
    verdict, how = compared(program, file, seconds, options, points)
    return ("read with --output" if options else "read"), "", verdict, how, spent


def main():
    program, folder = sys.argv[1], Path(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 60
    rng = np.random.default_rng(0)
    rows = []
    with open(sys.argv[4] if len(sys.argv) > 4 else os.devnull, "w", newline="") as into:
        writer = csv.writer(into)
        for file in sorted(folder.rglob("*.onnx")):
            rows.append([str(file.relative_to(folder)), *examine(program, file, seconds, rng)])
            writer.writerow(rows[-1])
            into.flush()
    print(f"{len(rows)} files, onnxruntime {onnxruntime.__version__}\n")
    print("| what became of it | compared | files |\n|---|---|---:|")
    for (state, verdict), count in collections.Counter((row[1], row[3]) for row in rows).most_common():
        print(f"| {state} | {verdict or '–'} | {count} |")
    print("\n| refused because | files |\n|---|---:|")
    for why, count in collections.Counter(row[2] for row in rows if row[2]).most_common():
        print(f"| {why} | {count} |")
    slowest = sorted(rows, key=lambda row: -row[5])[:3]
    print("\nslowest to read: " + ", ".join(f"{row[0]} ({row[5]:.1f} s)" for row in slowest))


main()
