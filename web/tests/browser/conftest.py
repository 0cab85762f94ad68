"""The browser, the command and the explorer page for the tests of this folder."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE))

import chromium  # noqa: E402


@pytest.fixture(scope="session")
def browser():
    if chromium.find() is None:
        pytest.fail("no Chromium found; install the package chromium, or name it in FIBERSCOPE_CHROMIUM")
    made = chromium.Chromium()
    yield made
    made.close()


@pytest.fixture(scope="session")
def shots(tmp_path_factory):
    """Where screenshots go: a folder that FIBERSCOPE_SHOTS names, or one that is thrown away."""
    folder = pathlib.Path(os.environ.get("FIBERSCOPE_SHOTS") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def fiberscope():
    """Runs the command and gives what it did."""
    built = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "debug" / "fiberscope"
    program = os.environ.get("FIBERSCOPE", str(built))

    def run(*arguments, code=0):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120)
        assert done.returncode == code, (arguments, done.returncode, done.stderr)
        return done.stdout

    run.program = program
    return run


@pytest.fixture(scope="session")
def explorer_file(fiberscope, tmp_path_factory):
    """The explorer as a file, as users hand it on."""
    path = tmp_path_factory.mktemp("page") / "explorer.html"
    fiberscope("explore", "-o", path)
    return path


@pytest.fixture
def page(browser):
    made = browser.page()
    yield made
    assert made.errors == []
    made.close()


@pytest.fixture(scope="session")
def explorer_page(browser, explorer_file):
    made = browser.page()
    made.open(f"file://{explorer_file}", "document.documentElement.dataset.ready === 'yes'")
    yield made
    made.close()


@pytest.fixture
def explorer(explorer_page):
    """The explorer with its first example, as it is when it was opened."""
    page = explorer_page
    page.scheme("light")
    page.size(1360, 900)
    page.choose("#examples", "hiding-plane")
    page.js("document.activeElement.blur()")
    page.move(1, 1)
    settle(page)
    yield page
    assert page.errors == []


def settle(page):
    """Waits until the verdict is there and the panels are drawn."""
    page.wait("['same', 'known', 'failed'].includes(window.explorer.app.verdict.state)")
    page.frame()
