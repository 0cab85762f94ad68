#!/usr/bin/env python3
"""An oracle for `fiberscope extract`: answers queries about a model in an .npz file (keys W1, b1, W2, b2, ...).

As a child process, lines of JSON on standard input and output:

    fiberscope extract -o found.json -- python3 examples/oracle.py model.npz

As an HTTP endpoint:

    python3 examples/oracle.py model.npz --http 8000 &
    fiberscope extract http://localhost:8000/ -o found.json

Replace `Model` by your own: any function from a table of inputs to a table of outputs will do. The messages
are described in docs/formats/oracle-v1.md.
"""

import argparse
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np


class Model:
    """A ReLU network with the parameters of an .npz file."""

    def __init__(self, path):
        with np.load(path) as file:
            depth = sum(name.startswith("W") for name in file.files)
            self.layers = [(file[f"W{i}"], file[f"b{i}"]) for i in range(1, depth + 1)]
        self.inputs = self.layers[0][0].shape[1]
        self.outputs = self.layers[-1][0].shape[0]

    def __call__(self, x):
        for weight, bias in self.layers[:-1]:
            x = np.maximum(x @ weight.T + bias, 0.0)
        weight, bias = self.layers[-1]
        return x @ weight.T + bias


def hello(model):
    return {"format": "fiberscope-oracle", "version": 1, "inputs": model.inputs, "outputs": model.outputs}


def answer(model, request):
    """The answer to one batch: a row of outputs for every row of inputs."""
    try:
        # One row at a time: the sums of a matrix product may depend on the other rows of the batch.
        rows = [model(np.array(row, dtype=float)) for row in json.loads(request)["inputs"]]
        return {"outputs": [row.tolist() for row in rows]}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def serve_lines(model):
    print(json.dumps(hello(model)), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(model, line)), flush=True)


def serve_http(model, port, token):
    class Handler(BaseHTTPRequestHandler):
        def reply(self, status, message):
            body = json.dumps(message).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def allowed(self):
            if token and self.headers.get("Authorization") != f"Bearer {token}":
                self.reply(401, {"error": "the token is missing or wrong"})
                return False
            return True

        def do_GET(self):
            if self.allowed():
                self.reply(200, hello(model))

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.allowed():
                self.reply(200, answer(model, body))

        def log_message(self, *_):
            pass

    HTTPServer(("localhost", port), Handler).serve_forever()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="an .npz file with W1, b1, W2, b2, ...")
    parser.add_argument("--http", type=int, metavar="PORT", help="listen on this port instead of standard input")
    parser.add_argument("--token-env", metavar="NAME", help="ask for the bearer token in this environment variable")
    arguments = parser.parse_args()
    model = Model(arguments.model)
    if arguments.http is None:
        serve_lines(model)
    else:
        serve_http(model, arguments.http, os.environ[arguments.token_env] if arguments.token_env else None)


if __name__ == "__main__":
    main()
