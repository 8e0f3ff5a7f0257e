"""The events of an export, which the command shows and tests record."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Takes the events of an export as they happen; a library is named by its stage, length and CPU level."""

    def planned(self, libraries: int) -> None:
        """Takes the number of libraries of the bundle, before the first is compiled."""

    def started(self, library: str) -> None:
        """Takes the name of a library that is being compiled from now on."""

    def finished(self, library: str, seconds: float, cached: bool) -> None:
        """Takes the name of a finished library and how long it took to compile, now or when it was cached."""

    def step(self, text: str) -> None:
        """Takes the description of a step that begins."""

    def warning(self, text: str) -> None:
        """Takes something that the user must know about the bundle."""
