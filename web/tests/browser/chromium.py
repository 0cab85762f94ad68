"""A headless Chromium, driven over a pipe with the DevTools protocol: JSON messages that end with a zero byte.

No library is needed for it, and no port is opened.
"""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
KEYS = {
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Enter": 13, "Tab": 9, "Home": 36, "End": 35,
}


def find():
    """The program, or None."""
    named = os.environ.get("FIBERSCOPE_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """A browser with an empty profile."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="fiberscope-browser-")
        high = lambda fd: fcntl.fcntl(fd, fcntl.F_DUPFD, 20)
        its_input, self.input = os.pipe()
        self.output, its_output = os.pipe()
        read, write = high(its_input), high(its_output)
        command = [
            find(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
            "--disable-background-networking", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--force-device-scale-factor=1", "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "about:blank",
        ]
        # Chromium reads commands from 3 and writes answers to 4.
        launch = f"import os, sys; os.dup2({read}, 3); os.dup2({write}, 4); os.execvp(sys.argv[1], sys.argv[1:])"
        self.process = subprocess.Popen(
            [sys.executable, "-c", launch, *command], pass_fds=(read, write), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )
        for fd in (its_input, its_output, read, write):
            os.close(fd)
        self.buffer = b""
        self.count = 0
        self.answers = {}
        self.listeners = []

    def send(self, method, session=None, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.input, data):]
        return self.count

    def call(self, method, session=None, timeout=30, **parameters):
        """Sends a command and waits for its answer."""
        wanted = self.send(method, session, **parameters)
        end = time.monotonic() + timeout
        while wanted not in self.answers:
            self.receive(end, method)
        answer = self.answers.pop(wanted)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    def receive(self, end, what="an event"):
        """Takes in one message."""
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.output], [], [], left)[0]:
                raise TimeoutError(f"no answer from Chromium to {what}")
            part = os.read(self.output, 1 << 16)
            if not part:
                raise RuntimeError("Chromium has stopped")
            self.buffer += part
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        if "id" in message:
            self.answers[message["id"]] = message
        else:
            for listener in self.listeners:
                listener(message)

    def page(self, width=1360, height=900):
        return Page(self, width, height)

    def close(self):
        with contextlib.suppress(Exception):
            self.call("Browser.close", timeout=5)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.input)
        os.close(self.output)
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """A tab. Errors of the page and the addresses it asked for are collected."""

    def __init__(self, browser, width, height):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        self.errors = []
        self.requests = []
        browser.listeners.append(self.listen)
        for domain in ["Page", "Runtime", "Log", "Network", "DOM"]:
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def listen(self, message):
        if message.get("sessionId") != self.session:
            return
        parameters = message["params"]
        if message["method"] == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif message["method"] == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])
        elif message["method"] == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def open(self, url, ready="document.readyState === 'complete'"):
        self.call("Page.navigate", url=url)
        self.wait(ready)

    def js(self, expression, timeout=30):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", timeout=timeout, expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def wait(self, condition, timeout=20):
        """Waits until an expression is true."""
        end = time.monotonic() + timeout
        while True:
            with contextlib.suppress(RuntimeError):
                value = self.js(condition)
                if value:
                    return value
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {condition}; errors of the page: {self.errors}")
            time.sleep(0.02)

    def text(self, selector):
        return self.js(f"document.querySelector({json.dumps(selector)})?.textContent ?? null")

    def place(self, selector):
        """The middle of an element, after scrolling to it."""
        return self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
            "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def move(self, x, y):
        self.mouse("mouseMoved", x, y)

    def click_at(self, x, y):
        self.move(x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def click(self, selector):
        self.click_at(*self.place(selector))

    def drag(self, start, end, steps=8):
        (x0, y0), (x1, y1) = start, end
        self.move(x0, y0)
        self.mouse("mousePressed", x0, y0, button="left", clickCount=1)
        for k in range(1, steps + 1):
            x, y = x0 + (x1 - x0) * k / steps, y0 + (y1 - y0) * k / steps
            self.mouse("mouseMoved", x, y, button="left", buttons=1)
            self.frame()
        self.mouse("mouseReleased", x1, y1, button="left", clickCount=1)

    def wheel(self, x, y, delta):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta)

    def key(self, name, times=1):
        code = KEYS.get(name)
        for _ in range(times):
            if code:
                down = {"key": name, "code": name, "windowsVirtualKeyCode": code}
                if name == "Enter":
                    down["text"] = "\r"
                self.call("Input.dispatchKeyEvent", type="keyDown", **down)
                self.call("Input.dispatchKeyEvent", type="keyUp", key=name, code=name, windowsVirtualKeyCode=code)
            else:
                self.call("Input.dispatchKeyEvent", type="keyDown", key=name, text=name)
                self.call("Input.dispatchKeyEvent", type="keyUp", key=name)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def choose(self, selector, value):
        """Chooses an option of a list, as a user's choice is reported to the page."""
        self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(value)};"
            "e.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )

    def upload(self, selector, path):
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def downloads_to(self, folder):
        self.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def frame(self):
        """Waits until the page has drawn twice."""
        self.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def scheme(self, name, media=""):
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def size(self, width, height, ratio=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio, mobile=False)

    def pdf(self, path):
        """The page as it is printed."""
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"]))

    def screenshot(self, path, whole=False):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        self.browser.listeners.remove(self.listen)
        self.browser.call("Target.closeTarget", targetId=self.target)
