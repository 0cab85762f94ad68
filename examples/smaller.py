"""A smaller network with the same function, and the proof.

    python smaller.py MODEL OUT        # a file: .onnx, .safetensors, .npz, .nnet, .json, .pt, .pth
    python smaller.py                  # a built-in network

Writes the proof to certificate.json. The script is typed: `mypy --strict smaller.py` knows every result.
"""

from __future__ import annotations

import sys
from pathlib import Path

import fiberscope as fs
from fiberscope.results import Checked, Reduced


def prove(net: fs.Network, small: Reduced) -> Checked:
    """Checks in exact arithmetic that nothing changed."""
    if small.certificate is None:
        raise fs.UndecidedError("the reduction has no certificate")
    small.certificate.save("certificate.json")
    return fs.check(small.certificate, net, small.network, space=True, claim="equivalent")


def widths(found: list[int]) -> str:
    return "-".join(map(str, found))


def main(model: str, out: Path) -> int:
    net = fs.load(model)
    small = net.reduce(time_limit=60)
    print(f"{model}: widths {widths(small.widths_before)} -> {widths(small.widths_after)}")
    checked = prove(net, small)
    saved = small.network.save(out, precision="f64")
    print(f"  proved: {checked.valid} ({checked.reason})")
    print(f"  wrote {out} ({saved.rounded} parameters rounded) and certificate.json")
    return 0 if checked else 1


if __name__ == "__main__":
    sys.exit(
        main(*((sys.argv[1], Path(sys.argv[2])) if len(sys.argv) == 3 else ("zoo:cancelling", Path("small.json"))))
    )
