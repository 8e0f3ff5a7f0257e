"""The application: its endpoints, its key, and its life from loading a bundle to closing it."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from runtime_min import Bundle, VoiceName
from runtime_min.errors import KokoroError

from . import answers, logs, metrics, openapi, wyoming
from .ascii_json import JSONAnswer
from .encoders import FORMATS
from .errors import RequestError, answer_error
from .keys import WRONG_KEY, Key
from .limits import REQUEST_BYTES, REQUEST_SECONDS
from .page import PATH, page
from .requests import MODELS, SpeechRequest, check_model, read_request, read_text
from .speech import phonemes, speak
from .stream_input import StreamInput
from .turns import Turns
from .voices import default_voice, voice_language

_WARM_UP = "Hello."
_REFUSED = {
    "/v1/audio/voices/combine": "Voices are not combined into a file: name a blend as the voice "
    "of a request, such as af_heart(2)+am_adam(1).",
    "/v1/download/{name:path}": "No answer is kept: save the answer of /v1/audio/speech.",
}
"""What clients of Kokoro-FastAPI ask for in vain, and what to do in place of it."""
_OPEN = ("/health", PATH, openapi.PATH, openapi.PAGE)
"""Paths that need no key: they show nothing that is secret."""
_log = logging.getLogger("uvicorn.error")


@dataclass(frozen=True)
class Options:
    """Options of an application."""

    slots: int = 2
    """Pieces that are computed at a time."""
    longest_queue: int = 256
    """Pieces that wait at a time, before new requests are refused."""
    send_seconds: float = 30.0
    """Time in which a client must take `answers.SENT_AT_ONCE` bytes."""
    api_key: str | None = None
    """Key that requests must carry; None if anybody may speak."""
    cors_origins: Sequence[str] = ()
    """Web sites whose scripts may use the server; ``*`` is any."""
    wyoming_peers: Sequence[wyoming.Network] = ()
    """Networks that may connect to the port for Wyoming; an empty tuple allows all."""
    loudness: float | None = None
    """LUFS of requests that name none; None leaves each voice at its own level."""


class Service:
    """The endpoints."""

    def __init__(self, bundle: Bundle, turns: Turns, options: Options) -> None:
        """Takes the objects that requests share."""
        self._bundle = bundle
        self._turns = turns
        self._options = options

    async def speech(self, request: Request) -> answers.SpeechAnswer:
        """Answers with speech, as audio or as events."""
        asked = await self._read(request)
        pieces = self._turns.take(speak(self._bundle, asked))
        if asked.sse:
            return self._answer(pieces, answers.as_events(pieces), "text/event-stream")
        return self._answer(pieces, answers.as_audio(pieces), FORMATS[asked.format].media_type)

    async def captioned_speech(self, request: Request) -> answers.SpeechAnswer:
        """Answers with speech and the times of its words, in lines of JSON or in one."""
        asked = await self._read(request)
        pieces = self._turns.take(speak(self._bundle, asked))
        chunks = answers.as_captions if asked.stream else answers.as_one_caption
        return self._answer(pieces, chunks(pieces, asked), "application/json")

    async def speech_of_phonemes(self, request: Request) -> answers.SpeechAnswer:
        """Answers with the speech of phonemes."""
        asked = await self._read(request, phonemes=True)
        pieces = self._turns.take(speak(self._bundle, asked))
        return self._answer(pieces, answers.as_audio(pieces), FORMATS[asked.format].media_type)

    async def phonemes(self, request: Request) -> answers.SpeechAnswer:
        """Answers with the phonemes of a text."""
        text, language = read_text(await self._content(request))
        pieces = self._turns.take(phonemes(self._bundle, text, language))
        return self._answer(pieces, answers.as_audio(pieces), "application/json")

    async def voices(self, request: Request) -> Response:
        """Lists the voices; as names alone for older clients."""
        names = self._bundle.voices
        if request.query_params.get("legacy") == "true":
            return JSONAnswer({"voices": names})
        return JSONAnswer({"voices": [self._described(name) for name in names]})

    def _described(self, name: VoiceName) -> dict[str, object]:
        usable = self._bundle.speaks(voice_language(name))
        return {"id": name, "name": name, "language": name.language, "usable": usable}

    async def models(self, request: Request) -> Response:
        """Lists the names of the one model, under `models` for Open WebUI."""
        found = list(map(self._model, MODELS))
        return JSONAnswer({"object": "list", "data": found, "models": found})

    async def model(self, request: Request) -> Response:
        """Describes one of them."""
        name = request.path_params["name"]
        check_model(name)
        return JSONAnswer(self._model(name))

    def _model(self, name: str) -> dict[str, object]:
        described = {"id": name, "object": "model", "created": 1_735_689_600, "owned_by": "kokoro"}
        return {**described, "voices": self._bundle.voices}

    async def health(self, request: Request) -> Response:
        """Answers as long as the server works."""
        return JSONAnswer({"status": "healthy"})

    async def metrics(self, request: Request) -> Response:
        """Answers with the figures."""
        return Response(metrics.exposition(), media_type="text/plain; version=0.0.4")

    async def _read(self, request: Request, *, phonemes: bool = False) -> SpeechRequest:
        try:
            body = await self._content(request)
            return read_request(body, self._bundle.voices, self._options.loudness, phonemes=phonemes)
        except RequestError as error:
            metrics.REQUESTS.labels(str(error.status)).inc()
            raise

    async def _content(self, request: Request) -> bytes:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                return await _body(request)
        except TimeoutError as error:
            raise RequestError(408, f"The body took longer than {REQUEST_SECONDS:g} s.") from error
        except ClientDisconnect as error:
            raise RequestError(400, "The client left before the end of its request.") from error

    def _answer(
        self, pieces: answers.Pieces, chunks: AsyncIterator[bytes], media_type: str
    ) -> answers.SpeechAnswer:
        return answers.SpeechAnswer(pieces, chunks, media_type, self._options.send_seconds)


class KeyCheck:
    """Refuses requests without the key, but for paths of `_OPEN`."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        """Takes the application to guard."""
        self._app = app
        self._key = Key(key)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, or answers it with 401."""
        app = self._app
        guarded = scope["type"] == "http" and scope["path"] not in _OPEN
        if guarded and not self._key.is_in(Headers(scope=scope)):
            app = JSONAnswer(WRONG_KEY.content, 401, {"WWW-Authenticate": "Bearer"})
        await app(scope, receive, send)


def create_app(
    load: Callable[[], Bundle], options: Options, wyoming_socket: socket.socket | None = None
) -> Starlette:
    """Loads a bundle and returns the application that speaks from it.

    Args:
        load: loads the bundle; the application closes it.
        options: limits, key and origins.
        wyoming_socket: bound socket for the Wyoming protocol; None for HTTP alone.

    Raises:
        KokoroError: the bundle cannot be loaded.
    """
    bundle = load()
    turns = Turns(options.slots, options.longest_queue)
    _warm_up(bundle)

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        async with logs.counting_repetitions():
            shared = (bundle, turns, options.send_seconds)
            port = wyoming.Port(*shared, options.wyoming_peers, options.loudness)
            async with wyoming.serving(port, wyoming_socket):
                yield
            # Answers that are broken off end meanwhile.
            await asyncio.to_thread(turns.close)
        bundle.close()

    service = Service(bundle, turns, options)
    manner = (options.send_seconds, options.api_key, options.cors_origins, options.loudness)
    stream_input = StreamInput(bundle, turns, *manner).serve
    routes = [
        Route(PATH, page),
        # Where Kokoro-FastAPI has its page.
        Route("/web", lambda request: RedirectResponse("." + PATH)),
        Route("/v1/audio/speech", service.speech, methods=["POST"]),
        Route("/dev/captioned_speech", service.captioned_speech, methods=["POST"]),
        Route("/dev/generate_from_phonemes", service.speech_of_phonemes, methods=["POST"]),
        Route("/dev/phonemize", service.phonemes, methods=["POST"]),
        Route("/v1/audio/voices", service.voices),
        *(Route(path, _refused(sentence), methods=["GET", "POST"]) for path, sentence in _REFUSED.items()),
        Route("/v1/models", service.models),
        Route("/v1/audio/models", service.models),
        Route("/v1/models/{name:path}", service.model),
        Route(openapi.PATH, openapi.openapi(with_key=options.api_key is not None)),
        Route(openapi.PAGE, openapi.docs),
        Route("/health", service.health),
        Route("/metrics", service.metrics),
        WebSocketRoute("/v1/text-to-speech/{voice}/stream-input", stream_input),
    ]
    failures = (RequestError, KokoroError, HTTPException, Exception)
    return Starlette(
        routes=routes,
        middleware=_middleware(options),
        exception_handlers=dict.fromkeys(failures, answer_error),
        lifespan=life,
    )


def _refused(sentence: str) -> Callable[[Request], Awaitable[Response]]:
    async def refuse(request: Request) -> Response:
        raise RequestError(404, sentence, code="not_supported")

    return refuse


def _middleware(options: Options) -> list[Middleware]:
    found = []
    if options.cors_origins:
        # First, because a browser asks without the key whether it may ask.
        found.append(
            Middleware(
                CORSMiddleware,
                allow_origins=options.cors_origins,
                allow_methods=["GET", "POST"],
                allow_headers=["*"],
                expose_headers=["Retry-After"],
            )
        )
    if options.api_key is not None:
        found.append(Middleware(KeyCheck, key=options.api_key))
    return found


def _warm_up(bundle: Bundle) -> None:
    """Speaks once, so that the first request does not wait for imports and voices; logs a failure."""
    try:
        for _ in speak(bundle, SpeechRequest(_WARM_UP, default_voice(bundle.voices))):
            pass
    except KokoroError as error:
        _log.warning("A first sentence could not be spoken: %s", error)


async def _body(request: Request) -> bytes:
    """Returns the body of a request.

    Raises:
        RequestError: it is too long.
    """
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > REQUEST_BYTES:
        raise _too_long()
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > REQUEST_BYTES:
            raise _too_long()
    return bytes(body)


def _too_long() -> RequestError:
    return RequestError(413, f"A request has at most {REQUEST_BYTES} bytes.", "input")
