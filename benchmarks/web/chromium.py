"""A headless Chromium and one page in it, over its DevTools protocol."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

_OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0"),
    "--autoplay-policy=no-user-gesture-required",
)


class Page:
    """A page, and what went wrong in it."""

    def __init__(self, connection: ClientConnection, pid: int, patience: float) -> None:
        """Takes a connection to the browser, and opens a page."""
        self._connection, self._patience = connection, patience
        self.pid = pid
        """Number of the browser's process."""
        self._number = 0
        self._session: str | None = None
        self.failures: list[str] = []
        """Exceptions of scripts, and messages of the browser such as refusals of its content policy."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Returns the result of a method of the protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._connection.send(json.dumps(message))
        while True:
            answer = json.loads(self._connection.recv(timeout=self._patience))
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.failures.append(json.dumps(answer["params"]))
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                found: dict[str, Any] = answer["result"]
                return found

    def open(self, address: str) -> None:
        """Goes to an address, and waits until the page is there."""
        self.call("Page.navigate", url=address)
        self.wait_for(f"location.href === {json.dumps(address)} && document.readyState === 'complete'")

    def run(self, expression: str) -> Any:
        """Returns the value of an expression of JavaScript."""
        options = {"expression": expression, "returnByValue": True, "userGesture": True}
        found = self.call("Runtime.evaluate", **options, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """Returns the first value of an expression that is true in JavaScript."""
        end = time.monotonic() + self._patience
        while not (found := self.run(expression)):
            assert time.monotonic() < end, f"{expression}: still {found!r}; {self.failures}"
            time.sleep(0.02)
        return found


@contextmanager
def opened(program: str, place: Path, patience: float = 60.0) -> Iterator[Page]:
    """Starts Chromium with its files in `place`; downloads go there too.

    Args:
        program: Chromium.
        place: directory of its files.
        patience: seconds that an answer may take.
    """
    command = [program, *_OPTIONS, f"--user-data-dir={place / 'profile'}", "about:blank"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            address = next(
                found[1]
                for line in process.stderr
                if (found := re.search(r"DevTools listening on (ws://\S+)", line))
            )
            with connect(address, max_size=None) as connection:
                page = Page(connection, process.pid, patience)
                page.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(place))
                yield page
        finally:
            process.terminate()
