"""The page at `/`, on which a visitor types, hears and downloads."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

PATH = "/"


async def page(request: Request) -> Response:
    """Answers with the page."""
    return Response(_CONTENT, media_type="text/html", headers={"Content-Security-Policy": _POLICY})


def _digest(element: bytes) -> str:
    found = re.search(rb"<%b>(.*?)</%b>" % (element, element), _CONTENT, re.DOTALL)
    assert found
    return f"'sha256-{base64.b64encode(hashlib.sha256(found[1]).digest()).decode()}'"


_CONTENT = (files(__package__) / "data" / "page.html").read_bytes()
_POLICY = (
    f"default-src 'none'; script-src {_digest(b'script')}; style-src {_digest(b'style')}; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page runs its own script, and asks this server alone."""
