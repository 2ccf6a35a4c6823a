"""A headless Chromium for the tests, spoken to by the DevTools protocol over two pipes. It waits for what the page does, never for time.

Protocol: https://chromedevtools.github.io/devtools-protocol/ (JSON messages that end with a zero byte). Standard library only.
"""
import base64
import fcntl
import json
import os
import select
import time

BINARY = "/usr/bin/chromium"
PATIENCE_S = 60

# Resolves with the first value of EXPRESSION that is true: now, or when the document has changed.
AWAIT = """new Promise((done) => {
  const look = () => { try { return EXPRESSION; } catch { return false; } };
  const first = look();
  if (first) return done(first);
  const watcher = new MutationObserver(() => {
    const value = look();
    if (value) { watcher.disconnect(); done(value); }
  });
  watcher.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
})"""


class Chromium:
    """`test`: a MusterTest, which ends it and notices what it leaves behind."""

    def __init__(self, test):
        to_browser, self._to_browser = self._pipe()
        self._from_browser, from_browser = self._pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
                 "--disable-background-networking", "--disable-component-update", "--disable-crash-reporter", "--no-proxy-server",
                 "--user-data-dir=" + test.path("chromium"), "about:blank"]
        # Chromium wants them as 3 and 4.
        command = ["bash", "-c", 'exec "$@" 3<&%d 4>&%d %d<&- %d>&-' % (to_browser, from_browser, to_browser, from_browser), "bash", BINARY] + flags
        self.process = test.start_command(command, pass_fds=(to_browser, from_browser))
        os.close(to_browser)
        os.close(from_browser)
        self._received = b""
        self._number = 0
        self._answers = {}
        self.events = []
        test.addCleanup(self.close)

    @staticmethod
    def _pipe():
        """Not at 3 and 4, which it will have."""
        low = os.pipe()
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low]
        for end in low:
            os.close(end)
        return high

    def close(self):
        """Ends it, with all its processes, and closes the pipes."""
        if self._to_browser is None:
            return
        try:
            self.call("Browser.close")
            self.process.finish()
        except (OSError, AssertionError):
            pass  # it has ended already; the test kills what is left
        os.close(self._to_browser)
        os.close(self._from_browser)
        self._to_browser = None

    def call(self, method, session=None, timeout_s=PATIENCE_S, **parameters):
        """The result of a command. AssertionError: it failed, or did not answer in time."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._to_browser, json.dumps(message).encode() + b"\0")
        self._read_until(lambda: message["id"] in self._answers, method, timeout_s)
        answer = self._answers.pop(message["id"])
        if "error" in answer:
            raise AssertionError("%s: %s" % (method, answer["error"]))
        return answer["result"]

    def wait_for_event(self, method, session, timeout_s=PATIENCE_S):
        self._read_until(lambda: any(event["method"] == method and event.get("sessionId") == session for event in self.events),
                         method, timeout_s)

    def _read_until(self, condition, what, timeout_s):
        deadline = time.monotonic() + timeout_s
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._from_browser], [], [], left)[0]:
                raise AssertionError("no answer to %s within %d s\n%s" % (what, timeout_s, self.process.err.text()[-2000:]))
            chunk = os.read(self._from_browser, 1 << 20)
            if not chunk:
                raise AssertionError("Chromium has ended\n%s" % self.process.err.text()[-2000:])
            *messages, self._received = (self._received + chunk).split(b"\0")
            for message in map(json.loads, messages):
                if "id" in message:
                    self._answers[message["id"]] = message
                else:
                    self.events.append(message)

    def open(self, url):
        return Page(self, url)


class Page:
    """A tab. `complaints()` is what its console, its policy or a dialog said."""

    def __init__(self, browser, url):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")
        self.call("Page.navigate", url=url)
        browser.wait_for_event("Page.loadEventFired", self.session)

    def call(self, method, **parameters):
        return self.browser.call(method, session=self.session, **parameters)

    def evaluate(self, expression):
        """The value of a JavaScript expression, also of a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError("%s\n%s" % (expression, json.dumps(answer["exceptionDetails"])[:2000]))
        return answer["result"].get("value")

    def wait_for(self, expression):
        """Until it is true; its value. AssertionError with the page's text: it never was."""
        try:
            return self.evaluate(AWAIT.replace("EXPRESSION", "(" + expression + ")"))
        except AssertionError as error:
            raise AssertionError("%s\nnever true: %s\n%s" % (error, expression, self.text())) from None

    def text(self):
        return self.evaluate("document.body.innerText")

    def wait_for_text(self, text):
        return self.wait_for("document.body.innerText.includes(%s)" % json.dumps(text))

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode={"Tab": 9, "Enter": 13, "ArrowLeft": 37}[key],
                      **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}))

    def resize(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def screenshot(self, path, whole=True):
        """PNG; `whole`: also what is below the window."""
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(image))

    def complaints(self):
        kinds = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening")
        return [event["params"] for event in self.browser.events if event.get("sessionId") == self.session and event["method"] in kinds]
