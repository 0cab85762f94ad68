"""`fiberscope explore`: one page at an address that nobody can guess."""

import json
import subprocess
import urllib.error
import urllib.request

import pytest
from conftest import settle


@pytest.fixture
def served(fiberscope):
    process = subprocess.Popen(
        [fiberscope.program, "explore", "zoo:hiding-two", "--json", "--time-limit", "60"], stdout=subprocess.PIPE, text=True
    )
    text = ""
    while not text.rstrip().endswith("}"):
        line = process.stdout.readline()
        assert line, "the server stopped"
        text += line
    yield json.loads(text)
    assert process.poll() is None
    process.terminate()
    process.wait()


def test_the_page_comes_with_the_model(served, browser, page):
    assert served["url"].startswith("http://127.0.0.1:")
    page.open(served["url"], "document.documentElement.dataset.ready === 'yes'")
    settle(page)
    assert "zoo:hiding-two: 3-3-2-1" in page.text("#title") and page.text("#verdict .badge") == "✓ yes"
    asked = {url for url in page.requests if not url.startswith(("data:", "blob:"))}
    assert asked == {served["url"]}
    # A tab that is closed while it loads is no reason to stop.
    for _ in range(3):
        other = browser.page()
        other.call("Page.navigate", url=served["url"])
        other.close()
    with urllib.request.urlopen(served["url"]) as answer:
        assert answer.status == 200


def test_nothing_else_is_served(served):
    origin = served["url"].rsplit("/", 2)[0]
    for path in ["/", "/Cargo.toml", "/../Cargo.toml", "/%2e%2e/Cargo.toml", "/0123456789abcdef0123456789abcdef/"]:
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(origin + path)
        assert refused.value.code == 404
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(served["url"], data=b"x" * 100000)
    assert refused.value.code == 413


def test_a_port_in_use_is_an_error(served, fiberscope):
    done = subprocess.run([fiberscope.program, "explore", "--port", str(served["port"])], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2 and f"port {served['port']} of 127.0.0.1 is in use" in done.stderr
