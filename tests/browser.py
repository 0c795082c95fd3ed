"""A headless Chromium for tests, controlled over a pipe; without Chromium, tests of pages are skipped, with a reason."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest


def _works(path: str | None) -> bool:
    """Return whether a command prints its version; some stubs only print where to get the program."""
    if path is None:
        return False
    return (
        subprocess.run([path, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE).returncode
        == 0
    )


PATIENCE = 240.0
CHROMIUM = next(filter(_works, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WITHOUT = "no Chromium: what is seen in a browser is not tried (Debian: apt-get install chromium)"
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason=WITHOUT)
SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--remote-debugging-pipe",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-gpu-compositing",  # SwiftShader renders WebGL only; text and lines took two thirds of the time
    "--webgl-antialiasing-mode=none",  # one sample per pixel instead of four, in half the time
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
)
KEYS = {"Enter": (13, "\r"), "Space": (32, " "), "ArrowRight": (39, ""), "ArrowLeft": (37, ""), "Home": (36, ""), "End": (35, "")}


@dataclass
class Browser:
    """Browser window; `complaints` lists the errors of its console, and `asked` the addresses that it requested."""

    webgl: bool = True
    complaints: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        assert CHROMIUM is not None
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        down, up = os.pipe(), os.pipe()
        # High numbers first, so that 3 and 4, which Chromium reads and writes, are free in the child.
        read, write = (fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (down[0], up[1]))
        more = () if self.webgl else ("--disable-3d-apis", "--disable-gpu")
        command = [CHROMIUM, *SWITCHES, *more, f"--user-data-dir={self._folder.name}", "about:blank"]
        script = f'exec "$0" "$@" 3<&{read} 4>&{write}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, *command], pass_fds=(read, write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for fd in (down[0], up[1], read, write):
            os.close(fd)
        self._to, self._from = os.fdopen(down[1], "wb"), up[0]
        self._rest, self._count, self._session = b"", 0, None
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._ask(f"{domain}.enable")
        self.prefer()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._to.close()
        os.close(self._from)
        self._process.terminate()
        self._process.wait(PATIENCE)
        self._folder.cleanup()

    def _messages(self) -> Iterator[dict[str, Any]]:
        end = time.monotonic() + PATIENCE
        while select.select([self._from], [], [], max(end - time.monotonic(), 0.0))[0]:
            read = os.read(self._from, 1 << 20)
            assert read, "Chromium has ended"
            self._rest += read
            *whole, self._rest = self._rest.split(b"\0")
            for text in whole:
                yield json.loads(text)
        raise TimeoutError("Chromium does not answer")

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        number = self._count
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        self._to.flush()
        answer: dict[str, Any] | None = None
        for found in self._messages():
            self._note(found)
            answer = found if found.get("id") == number else answer
            if answer is not None:
                break
        assert answer is not None and "error" not in answer, answer
        return dict(answer["result"])

    def _note(self, message: dict[str, Any]) -> None:
        method, given = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning"):
            self.complaints.append(str([value.get("value") for value in given["args"]]))
        elif method == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.complaints.append(given["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(given["request"]["url"])

    def open(self, path: Path, width: int = 1300, height: int = 850) -> None:
        self.asked.clear()
        self.resize(width, height)
        self._ask("Page.navigate", url=path.resolve().as_uri())
        end = time.monotonic() + PATIENCE
        while self.run("document.readyState") != "complete":
            assert time.monotonic() < end
            time.sleep(0.02)
        self.rest()

    def resize(self, width: int, height: int) -> None:
        self._ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def rest(self) -> None:
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def run(self, script: str) -> Any:
        found = self._ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self._ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.rest()

    def type(self, text: str) -> None:
        self._ask("Input.insertText", text=text)
        self.press("Enter")

    def press(self, key: str) -> None:
        code, text = KEYS[key]
        known = {"key": text or key, "code": key, "windowsVirtualKeyCode": code}
        self._ask("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **known)
        self._ask("Input.dispatchKeyEvent", type="keyUp", **known)
        self.rest()

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        middle = (0.5 * (start[0] + end[0]), 0.5 * (start[1] + end[1]))
        for kind, (x, y) in (("mousePressed", start), ("mouseMoved", middle), ("mouseMoved", end), ("mouseReleased", end)):
            self._ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)
        self.rest()

    def pinch(self, x: float, y: float, by: float) -> None:
        """Move two fingers about a point, px, until their distance is `by` times the initial distance."""
        for kind, half in (
            ("touchStart", 40.0),
            ("touchMove", 40.0 * (0.5 + 0.5 * by)),
            ("touchMove", 40.0 * by),
            ("touchEnd", None),
        ):
            points = [] if half is None else [{"x": x - half, "y": y, "id": 0}, {"x": x + half, "y": y, "id": 1}]
            self._ask("Input.dispatchTouchEvent", type=kind, touchPoints=points)
        self.rest()

    def prefer(self, dark: bool = False) -> None:
        """Choose light or dark mode without animations, so that a page at rest needs no computation."""
        wanted = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        self._ask("Emulation.setEmulatedMedia", features=[{"name": name, "value": value} for name, value in wanted.items()])

    def picture(self, path: Path | None = None, whole: bool = False) -> bytes:
        found = base64.b64decode(self._ask("Page.captureScreenshot", captureBeyondViewport=whole)["data"])
        if path is not None:
            path.write_bytes(found)
        return found

    def overflow(self) -> int:
        return int(self.run("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@contextmanager
def browser(webgl: bool = True) -> Iterator[Browser]:
    with Browser(webgl) as window:
        yield window
