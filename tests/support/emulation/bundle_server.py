"""A bundle on an emulated machine: the script that loads it there, and its proxy here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def answers(bundle: str, arithmetic: str | None = None, *features: str) -> Callable[[Any], Any]:
    """Returns a function that calls the methods of a bundle, loaded by the bundle's own runtime.

    `features` are those that the emulated processor has and the file of the system does not name.
    """
    sys.path.insert(0, f"{bundle}/runtime_min.pyz")
    from runtime_min import Bundle
    from runtime_min.engine import machine

    found = machine._parse_cpuinfo
    machine._parse_cpuinfo = lambda text: found(text).union(features)
    loaded = Bundle.load(bundle, arithmetic=arithmetic)

    def answer(question: Any) -> Any:
        stage, method, arguments, options = question
        if method == "modules":
            return sorted(sys.modules)
        if method == "level":
            return loaded.level.name
        return getattr(loaded.stage(stage) if stage else loaded, method)(*arguments, **options)

    return answer


@dataclass(frozen=True)
class EmulatedBundle:
    """A bundle on the emulated machine, with the part of `Bundle` that `parity.figures.compare` needs."""

    directory: Path
    manifest: Any
    ask: Callable[[Any], Any]
    arithmetic: str = "float32"

    def trace(self, *arguments: Any, **options: Any) -> Any:
        """Speaks there."""
        return self.ask((None, "trace", arguments, options))

    def modules(self) -> list[str]:
        """Names of all modules imported there."""
        names: list[str] = self.ask((None, "modules", (), {}))
        return names

    def level(self) -> str:
        """Name of the CPU level that the machine took."""
        name: str = self.ask((None, "level", (), {}))
        return name

    def stage(self, name: str) -> EmulatedStage:
        """Returns a stage of the bundle on the emulated machine."""
        return EmulatedStage(name, self.ask)


@dataclass(frozen=True)
class EmulatedStage:
    """A stage on the emulated machine, with the part of `StageRunner` that `parity.figures.compare` needs."""

    name: str
    ask: Callable[[Any], Any]

    def run(self, inputs: Any) -> Any:
        """Runs the stage there."""
        return self.ask((self.name, "run", (inputs,), {}))
