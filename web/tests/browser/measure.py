"""How long the explorer takes to follow a change: `python web/tests/browser/measure.py [FIBERSCOPE]`.

A bias of the first and of the second layer of a 2-16-16-1 network is moved in small steps, as a drag does. Timed on the page: the complex on the visible part of
the plane, drawing it, and the panels, in one thread; and how long the verdict takes after that.
"""

import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from chromium import Chromium  # noqa: E402

UPDATES = """(async (waiting) => {
  const { app, view, page, paint } = window.explorer;
  const times = [], verdicts = [];
  for (let k = 0; k < 120; k++) {
    const layer = k % 2;
    const bias = app.startNetwork.layers[layer].bias[3];
    await new Promise(requestAnimationFrame);
    const begun = performance.now();
    app.edit(layer, 3, null, bias + 0.004 * (k + 1));
    // The picture that the next frame would draw is drawn now, so that it is timed.
    cancelAnimationFrame(page.frame);
    page.frame = 0;
    paint();
    times.push(performance.now() - begun);
    while (waiting && !["known", "failed"].includes(app.verdict.state)) await new Promise((next) => setTimeout(next, 1));
    verdicts.push(performance.now() - begun);
  }
  return { count: times.length, times, verdicts, regions: view.picture.regions.length, folds: view.picture.folds.length, verdict: app.verdict.verdict };
})"""


def thread_time(page):
    """Seconds of processor time that the page's thread has used: waiting for other programs does not count."""
    metrics = page.call("Performance.getMetrics")["metrics"]
    return next(each["value"] for each in metrics if each["name"] == "ThreadTime")


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "fiberscope"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "explorer.html"
        subprocess.run([program, "explore", "-o", path, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        browser = Chromium()
        try:
            page = browser.page()
            page.open(f"file://{path}", "document.documentElement.dataset.ready === 'yes'")
            page.choose("#examples", "random-16")
            page.frame()
            update = lambda waiting: page.js(f"{UPDATES}({waiting})", timeout=300)
            decided = update("true")  # the browser compiles what runs often
            decided = update("true")
            page.call("Performance.enable", timeDomain="threadTicks")
            before = thread_time(page)
            found = update("false")
            found["cpu"] = 1000 * (thread_time(page) - before) / found["count"]
        finally:
            browser.close()
    middle = lambda xs: sorted(xs)[len(xs) // 2]
    high = lambda xs: sorted(xs)[len(xs) * 95 // 100]
    print(f"2-16-16-1, {found['regions']} regions, {found['folds']} pieces of folds; {len(found['times'])} updates")
    print(f"processor time of the page's thread, everything included: {found['cpu']:.1f} ms per update")
    print(f"picture and panels  median {middle(found['times']):5.1f} ms, 95 % within {high(found['times']):5.1f} ms")
    print(f"with the verdict    median {middle(decided['verdicts']):5.1f} ms, 95 % within {high(decided['verdicts']):5.1f} ms")


if __name__ == "__main__":
    main()
