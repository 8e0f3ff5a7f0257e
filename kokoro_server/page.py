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
    return answer_page(_CONTENT)


def answer_page(content: bytes) -> Response:
    """Returns an answer with HTML that may run its own script, and asks this server alone."""
    script, style = (_digest(content, element) for element in (b"script", b"style"))
    policy = (
        f"default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return Response(content, media_type="text/html", headers={"Content-Security-Policy": policy})


def _digest(content: bytes, element: bytes) -> str:
    found = re.search(rb"<%b>(.*?)</%b>" % (element, element), content, re.DOTALL)
    if not found:
        return "'none'"
    return f"'sha256-{base64.b64encode(hashlib.sha256(found[1]).digest()).decode()}'"


_CONTENT = (files(__package__) / "data" / "page.html").read_bytes()
