"""The key that clients of a server must have."""

from __future__ import annotations

import hmac
from contextlib import suppress

from starlette.datastructures import Headers

from .errors import RequestError

WRONG_KEY = RequestError(401, "The API key is missing or wrong.", code="invalid_api_key")


class Key:
    """A key, given as text: in the command or the environment."""

    def __init__(self, text: str) -> None:
        """Takes what clients must send."""
        self._forms = {text.encode(errors="surrogateescape")}
        # Clients encode headers in UTF-8 or, as websockets does, in Latin-1.
        with suppress(UnicodeEncodeError):
            self._forms.add(text.encode("latin-1"))

    def is_in(self, headers: Headers, name: str = "authorization") -> bool:
        """Returns true if a header carries the key; `authorization` has ``Bearer`` before it."""
        given = headers.get(name, "")
        if name == "authorization":
            kind, _, given = given.partition(" ")
            if kind.lower() != "bearer":
                return False
        # Starlette decodes the bytes of headers so.
        return self._is(given.strip().encode("latin-1"))

    def is_text(self, given: str) -> bool:
        """Returns true if a text is the key."""
        return self._is(given.encode(errors="surrogatepass"))

    def _is(self, given: bytes) -> bool:
        # In a time that does not depend on how much of it is right.
        return any(hmac.compare_digest(given, form) for form in self._forms)
