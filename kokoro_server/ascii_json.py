r"""JSON that every client can read: all but ASCII is escaped.

A client may send half of a surrogate pair as `"\ud800"`. UTF-8 has no form for it, but JSON has this one.

>>> as_json({"word": "\ud800é"})
b'{"word": "\\ud800\\u00e9"}'
"""

from __future__ import annotations

import json

from starlette.responses import JSONResponse


def as_json(content: object) -> bytes:
    """Returns a value as JSON."""
    return json.dumps(content, allow_nan=False).encode("ascii")


class JSONAnswer(JSONResponse):
    """An answer of one JSON value."""

    def render(self, content: object) -> bytes:
        """Returns the answer's bytes."""
        return as_json(content)
