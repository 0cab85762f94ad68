"""The files of examples/scale: the Kubernetes one against the schema of its kind, the shell ones by a linter, and the one of GNU parallel is run.

Run by `cargo xtask test cluster`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "examples/scale"
# The options of sbatch that the file uses, as its manual has them.
SBATCH = {
    "job-name": r"\S+",
    "array": r"\d+-\d+(%\d+)?",
    "cpus-per-task": r"\d+",
    "time": r"(\d+-)?\d\d:\d\d:\d\d",
    "requeue": None,
    "signal": r"(B:|R:)?[A-Z0-9]+@\d+",
}


def kubernetes() -> None:
    import kubernetes_validate

    data = yaml.safe_load((FILES / "kubernetes.yaml").read_text())
    version = kubernetes_validate.latest_version()
    kubernetes_validate.validate(data, version, strict=True)
    wrong = yaml.safe_load((FILES / "kubernetes.yaml").read_text())
    wrong["spec"]["paralelism"] = wrong["spec"].pop("parallelism")
    try:
        kubernetes_validate.validate(wrong, version, strict=True)
    except kubernetes_validate.ValidationError:
        print(f"kubernetes.yaml: a valid Job of version {version}; one with a typing error is refused")
        return
    raise AssertionError("the schema accepts anything")


def slurm() -> None:
    options = re.findall(r"^#SBATCH --([a-z-]+)(?:=(\S+))?$", (FILES / "slurm.sh").read_text(), re.MULTILINE)
    lines = len(re.findall(r"^#SBATCH", (FILES / "slurm.sh").read_text(), re.MULTILINE))
    assert len(options) == lines > 3, options
    for name, value in options:
        assert name in SBATCH, name
        assert (SBATCH[name] is None) == (value == "") and re.fullmatch(SBATCH[name] or "", value), (name, value)
    print(f"slurm.sh: {lines} options of sbatch")


def shell() -> None:
    linter = Path(sys.executable).with_name("shellcheck")
    subprocess.run([str(linter), *map(str, sorted(FILES.glob("*.sh")))], check=True)
    print("shellcheck: nothing to say")


def run(command: str) -> None:
    environment = os.environ | {"PATH": f"{Path(command).parent}:{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        direct = subprocess.run(
            [command, "regions", "zoo:deep", "--box", "-1,1", "--count-only", "--json"], capture_output=True, text=True
        )
        expected = json.loads(direct.stdout)["regions"]
        scripts = {"slurm.sh": None}
        if shutil.which("parallel"):
            done = subprocess.run(
                ["sh", str(FILES / "parallel.sh"), "zoo:deep", "-1,1", f"{folder}/a"],
                capture_output=True, text=True, env=environment,
            )  # fmt: skip
            assert done.returncode == 0 and f"{expected} regions" in done.stdout, done.stdout + done.stderr
            print(f"parallel.sh: {expected} regions, as without")
        else:
            print("parallel.sh: not run, for GNU parallel is not installed")
        # What sbatch does with every element of the array.
        for name in scripts:
            subprocess.run(
                [command, "plan", "regions", "zoo:deep", "--box", "-1,1", "-o", f"{folder}/b"],
                check=True,
                capture_output=True,
            )
            workers = [
                subprocess.Popen(["sh", str(FILES / name), f"{folder}/b"], env=environment, stdout=subprocess.DEVNULL)
                for _ in range(2)
            ]
            assert all(worker.wait() == 0 for worker in workers)
            merged = subprocess.run([command, "merge", f"{folder}/b", "--json"], capture_output=True, text=True)
            assert json.loads(merged.stdout)["regions"] == expected
            print(f"{name}: two elements, {expected} regions, as without")


if __name__ == "__main__":
    kubernetes()
    slurm()
    shell()
    run(sys.argv[1])
