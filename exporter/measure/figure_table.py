"""A table of figures, which a terminal and Markdown show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

_MOST_ROWS = 24
"""Rows of a table in the terminal."""
_WIDE = 110
"""Columns of a terminal that shows every column of every table."""


@dataclass(frozen=True)
class FigureTable:
    """A table whose cells are text."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 1
    """Columns from the left that hold words; the others hold numbers."""
    details: tuple[int, ...] = ()
    """Columns that a narrow terminal does without."""
    note: str = ""

    def markdown(self) -> str:
        """Returns the table below a heading, as Markdown."""
        rule = ["---"] * self.labels + ["---:"] * (len(self.head) - self.labels)
        lines = [_markdown_row(row) for row in (self.head, rule, *self.rows)]
        note = [self.note, ""] if self.note else []
        return "\n".join([f"## {self.title}", "", *note, *lines, ""])

    def renderables(self, width: int) -> Iterator[RenderableType]:
        """Yields the title, the note and the rows, for a terminal of `width` columns."""
        # The title and the note are outside the table: a narrow one would break them.
        yield Text(f"\n{self.title}", style="bold")
        if self.note:
            yield Text(self.note.replace("*", ""), style="dim")
        rows = self.rows[:_MOST_ROWS]
        places = [place for place in range(len(self.head)) if width >= _WIDE or place not in self.details]
        grid = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for place in places:
            # Words may be broken, numbers must not be.
            widest = None if place < self.labels else max(len(row[place]) for row in rows)
            justify: Literal["left", "right"] = "right" if widest else "left"
            grid.add_column(self.head[place], justify=justify, min_width=widest, overflow="fold")
        for row in rows:
            grid.add_row(*(Text(row[place]) for place in places))
        yield grid
        if len(self.rows) > _MOST_ROWS:
            yield Text(f"--save-dir writes {len(self.rows) - _MOST_ROWS} more rows", style="dim")


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
