"""What must hold of the package where it was installed from a wheel: `python installed.py` in a clean environment.

Not a test of the checkout (pytest does not collect it): it fails if the package is imported from there.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import version
from pathlib import Path

import fiberscope as fs


def main() -> None:
    home = Path(fs.__file__).resolve().parent
    assert home.parent == Path(sysconfig.get_path("platlib")).resolve(), f"imported from {home}"
    assert (home / "py.typed").is_file(), "types are not announced"
    assert fs.__version__ == version("fiberscope") != "0"
    found = fs.equiv("zoo:hiding-two", "zoo:hiding-two-translated")
    assert found.verdict == "equivalent", found.verdict
    assert found.certificate is not None
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "explorer.html")
        fs.explore("zoo:deep", path=page)
        assert page.stat().st_size > 1_000_000, "the explorer is not in the package"
        report = fs.report("zoo:deep", "zoo:deep-shuffled", path=Path(folder, "report.html")).report
        assert 'id="checker"' in report.read_text(), "the checker is not in the package"
    script = Path(sysconfig.get_path("scripts"), "fiberscope")
    for command in [[str(script)], [sys.executable, "-m", "fiberscope"]]:
        said = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True).stdout
        assert said.split() == ["fiberscope", version("fiberscope")], said
    sys.stdout.write(f"fiberscope {version('fiberscope')} works in {home}\n")


if __name__ == "__main__":
    main()
