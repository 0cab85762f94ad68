"""Types: the stub is the native module, users see types to the bottom, and no module imports one that imports it."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from conftest import ROOT

PACKAGE = ROOT / "python" / "fiberscope"


def run(*arguments: str | Path, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, arguments)], capture_output=True, text=True, timeout=300, **options)


# Reading PyTorch's own types takes half a minute; the package is checked against them beside these tests.
WITHOUT_TORCH = "[mypy-torch.*]\nfollow_imports = skip\n"


def test_the_stub_is_the_native_module(tmp_path):
    pytest.importorskip("mypy")
    configuration = tmp_path / "mypy.ini"
    configuration.write_text(f"[mypy]\nstrict = True\n{WITHOUT_TORCH}")
    environment = os.environ | {"MYPYPATH": str(PACKAGE.parent)}
    done = run(
        sys.executable, "-m", "mypy.stubtest", "fiberscope._native", "--mypy-config-file", configuration,
        cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def place(source: str, target: str) -> None:
    """Copies a file; where the file system can, without its bytes: the native part of a test build is large."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The Python of an environment in which the package is installed, as by pip; other packages are those of the tests."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    left_out = shutil.ignore_patterns("__pycache__", "*.new")
    shutil.copytree(PACKAGE, packages / "fiberscope", ignore=left_out, copy_function=place)
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    scripts = Path(sysconfig.get_path("scripts", "venv", {"base": str(folder)}))
    return scripts / ("python.exe" if os.name == "nt" else "python")


def bare() -> dict[str, str]:
    """The environment without the way to the sources of the package."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}


def mypy(python: Path, script: Path) -> subprocess.CompletedProcess[str]:
    """What a user sees, who has no configuration of ours. (What comes from PyTorch is allowed to have no types.)"""
    cache = python.parent.parent / "mypy"
    configuration = python.parent.parent / "mypy.ini"
    configuration.write_text(f"[mypy]\n{WITHOUT_TORCH}")
    arguments = [
        "--strict",
        "--allow-untyped-calls",
        "--allow-subclassing-any",
        "--config-file",
        configuration,
        "--cache-dir",
        cache,
        "--python-executable",
        python,
    ]
    return run(sys.executable, "-m", "mypy", *arguments, script.name, cwd=script.parent, env=bare())


@pytest.mark.parametrize("name", ["functional_dimension.py", "same_function.py", "smaller.py", "symmetries.py"])
def test_an_example_is_typed_and_runs_where_the_package_is_installed(installed, name, tmp_path):
    script = shutil.copy(ROOT / "examples" / name, tmp_path)
    checked = mypy(installed, Path(script))
    missing = [line for line in checked.stdout.splitlines() if "torch" not in line and "error:" in line]
    assert not missing, checked.stdout
    if name == "smaller.py":
        done = run(installed, script, cwd=tmp_path, env=bare())
        assert done.returncode == 0, done.stderr


WRONG = {
    'fs.load("a.onnx").reduce().network.widht': "has no attribute",
    'fs.load("a.onnx").fiber().sample(2)[0].regions().regions + 1': "None",
    'fs.load("a.onnx").functional_dimension(box=(-1, 1)).rank.bit_count()': "None",
    'fs.load("a.onnx").info(boxes=(-1, 1))': "Unexpected keyword",
    'fs.load("a.onnx", "fold")': "Too many positional",
    'fs.equiv("a.onnx", "b.onnx", sede=3)': "Unexpected keyword",
    'fs.equiv("a.onnx", "b.onnx").witness.x': "None",
    'fs.equiv("a.onnx", "b.onnx").verdict + 1': "Unsupported operand",
    'fs.extract(fs.load("a.onnx"), [2, 3, 1]).network.widths': "None",
    'fs.linear.path("a.onnx")[0].shape': "has no attribute",
    'fs.volume([3, 3, 2, 1]).exact = "1"': "read-only",
    'fs.volume("3,3,2,1")': "incompatible type",
    'fs.load("a.onnx").regions(max_regions="many")': "incompatible type",
    'fs.load("a.onnx").save("b.onnx") + 1': "Unsupported",
}


def test_what_is_wrong_is_told_before_it_runs(installed, tmp_path):
    script = tmp_path / "wrong.py"
    script.write_text("import fiberscope as fs\n" + "\n".join(WRONG) + "\n")
    told = mypy(installed, script).stdout
    for at, (line, sentence) in enumerate(WRONG.items(), 2):
        own = [each for each in told.splitlines() if each.startswith(f"wrong.py:{at}: error")]
        assert len(own) == 1 and sentence in own[0], f"{line}\n{told}"


def test_the_marker_is_what_makes_the_types_seen(installed, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import fiberscope as fs\nfs.load('a.onnx')\n")
    assert mypy(installed, script).returncode == 0
    (marker,) = installed.parent.parent.rglob("fiberscope/py.typed")
    marker.rename(marker.with_name("py.hidden"))
    try:
        assert "py.typed marker" in mypy(installed, script).stdout
    finally:
        marker.with_name("py.hidden").rename(marker)


def imports() -> dict[str, set[str]]:
    """What each module of the package imports from it: at its top, in functions, and for types only."""
    modules = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        found[name] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not any(each.name.startswith("fiberscope") for each in node.names), path
            if not isinstance(node, ast.ImportFrom):
                continue
            assert node.level or not str(node.module).startswith("fiberscope"), path
            if not node.level:
                continue
            above = name.split(".")[: -node.level]
            base = ".".join(above + ([node.module] if node.module else []))
            names = {f"{base}.{each.name}".lstrip(".") for each in node.names} | {base}
            found[name] |= names & modules.keys()
    return found


def test_no_import_leads_back():
    found = imports()
    assert found["__init__"] and found["_results.networks"] == {"_result", "network", "_results.proof"}
    done: list[str] = []
    while left := found.keys() - set(done):
        free = sorted(name for name in left if found[name] <= set(done))
        assert free, {name: sorted(found[name] & left) for name in sorted(left)}
        done += free
