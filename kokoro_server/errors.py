"""Errors as OpenAI's API shows them: a status, and a JSON object with a message, a type and a parameter."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request

from runtime_min.errors import (
    EmptyInputError,
    G2PMissingError,
    InputError,
    KokoroError,
    LanguageError,
    LoudnessError,
    MarkupError,
    NoLoudnessError,
    NoTextError,
    PauseError,
    ResourceError,
    SpeedError,
    TextEncodingError,
    TooLongError,
    UnknownPhonemesError,
    VoiceError,
    VoiceLanguageError,
)

from .ascii_json import JSONAnswer


class RequestError(Exception):
    """A request that is refused."""

    def __init__(
        self,
        status: int,
        message: str,
        parameter: str | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        """Takes the status and headers of the answer, the field that is wrong, and a word for programs."""
        super().__init__(message)
        self.status = status
        self.parameter = parameter
        self.code = code
        self.headers = headers

    @property
    def content(self) -> dict[str, object]:
        """The error as OpenAI's clients read it."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        error = {"message": str(self), "type": kind, "param": self.parameter, "code": self.code}
        return {"error": error}


_FIELDS: dict[str, tuple[type[KokoroError], ...]] = {
    "voice": (VoiceError,),
    "lang_code": (G2PMissingError, LanguageError, NoTextError, VoiceLanguageError),
    "speed": (SpeedError,),
    "loudness": (LoudnessError, NoLoudnessError),
    "end_pause": (PauseError,),
    "input": (EmptyInputError, MarkupError, TextEncodingError, TooLongError, UnknownPhonemesError),
}
"""The field of a request that causes an error."""


def refusal(failure: KokoroError | RequestError) -> RequestError:
    """Returns an error as the refusal of a request."""
    if isinstance(failure, RequestError):
        return failure
    field = next((name for name, kinds in _FIELDS.items() if isinstance(failure, kinds)), None)
    if isinstance(failure, (G2PMissingError, NoTextError)):
        return RequestError(422, str(failure), field, "language_not_installed")
    if isinstance(failure, InputError):
        return RequestError(400, str(failure), field)
    if isinstance(failure, ResourceError):
        return RequestError(503, str(failure), headers={"Retry-After": "5"})
    return RequestError(500, str(failure))


def answer_error(request: Request, failure: Exception) -> JSONAnswer:
    """Answers with an error; starlette calls it for errors that leave an endpoint."""
    if isinstance(failure, (KokoroError, RequestError)):
        failure = refusal(failure)
    elif isinstance(failure, HTTPException):
        message = f"{failure.detail}: {request.method} {request.url.path}"
        failure = RequestError(failure.status_code, message, headers=dict(failure.headers or {}))
    else:
        failure = RequestError(500, "The server failed; its log has the cause.")
    return JSONAnswer(failure.content, failure.status, failure.headers)
