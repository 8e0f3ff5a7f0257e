"""The tiny model as a bundle for the web, and scripts of JavaScript that speak with it in Node."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import Any

from exporter.bundle.write import BundleContents
from exporter.compiler.targets import find_target
from exporter.native.node import find_node
from exporter.native.web_module import link_module, scripts
from tests.support.tiny.one_module import module_contents

WEB = find_target("web")
FILE = WEB.module.format(level="simd128")
PATIENCE = 600
"""Seconds after which a script hangs."""
_ANSWERING = """
import { createInterface } from "node:readline";
const place = process.argv.at(-1);
const { Bundle, KokoroError } = await import(`${place}/web/kokoro.mjs`);
const bundle = await Bundle.load(place);
const Script = (async () => {}).constructor;
for await (const line of createInterface({ input: process.stdin })) {
  const { script, values } = JSON.parse(line);
  const known = { bundle, Bundle, KokoroError, ...values };
  const answer = await Promise.resolve()
    .then(() => new Script(...Object.keys(known), script)(...Object.values(known)))
    .then((value) => ({ value }), (error) => ({ error: String(error?.stack ?? error) }));
  console.log(JSON.stringify(answer));
}
"""


def web_contents(place: Path) -> BundleContents:
    """The bundle's contents, whose module is linked in `place`."""
    made = module_contents(place, WEB, WEB.name, link_module)
    return replace(made, extension_files=scripts())


def run_node(script: str, *arguments: object, directory: Path | None = None, **values: object) -> Any:
    """Runs a module of JavaScript in Node, and returns the value that it prints as JSON.

    Args:
        script: its text.
        arguments: what it gets as ``process.argv`` from 2 on.
        directory: where it runs, and finds its packages.
        values: constants that it finds by their names.
    """
    program = find_node()
    assert program is not None
    given = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in values.items())
    command = [program, "--input-type=module", "-", *map(str, arguments)]
    done = subprocess.run(
        command, input=given + script, cwd=directory, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Scripts:
    """A process of Node that has loaded a bundle, and runs scripts one after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, script: str, **values: object) -> Any:
        """Returns what the body of an asynchronous function returns.

        Args:
            script: its text; it finds the loaded ``bundle``, which it must not close, ``Bundle`` and
                ``KokoroError``.
            values: constants that it finds by their names.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"script": script, "values": values}) + "\n")
        self._process.stdin.flush()
        late = Timer(PATIENCE, self._process.kill)
        late.start()
        try:
            line = self._process.stdout.readline()
        finally:
            late.cancel()
        assert line, f"Node ended with {self._process.wait()}"
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer.get("value")


@contextmanager
def answering(bundle: Path) -> Iterator[Scripts]:
    """Starts a process that loads a bundle and runs scripts."""
    command = [find_node() or "", "--input-type=module", "--eval", _ANSWERING, str(bundle)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Scripts(process)
        finally:
            process.kill()
