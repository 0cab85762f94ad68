"""Times onnxruntime on a file, once per line of standard input.

Usage: onnx_run.py FILE ROWS THREADS

The first line of output names onnxruntime; every further line is the time to load the file and the time to evaluate
all rows, in seconds, and the seconds of the processor for the rows. Files whose batch axis is fixed to 1 are read with that axis free.
"""

import sys
import time

import numpy as np
import onnx
import onnxruntime


def main():
    file, rows, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    model = onnx.load(file)
    constants = {tensor.name for tensor in model.graph.initializer}
    (given,) = [value for value in model.graph.input if value.name not in constants]
    for value in [given, *model.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    del model.graph.value_info[:]
    data = model.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    dims = [dim.dim_value for dim in given.type.tensor_type.shape.dim[1:]]
    points = np.random.default_rng(0).uniform(-1, 1, (rows, *dims)).astype(np.float32)
    print(f"onnxruntime {onnxruntime.__version__}", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        loaded, spent = time.perf_counter(), time.process_time()
        session.run(None, {given.name: points})
        print(loaded - start, time.perf_counter() - loaded, time.process_time() - spent, flush=True)


main()
