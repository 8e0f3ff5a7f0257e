"""A TTS for livekit-agents that speaks text while it arrives, with the time of each word.

session = AgentSession(tts=KokoroTTS(Bundle.load("bundles/kokoro")), ...)
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from livekit.agents import APIConnectOptions, APIError
from livekit.agents.tts import (
    TTS,
    AudioEmitter,
    ChunkedStream,
    SynthesizeStream,
    TTSCapabilities,
)
from livekit.agents.types import DEFAULT_API_CONNECT_OPTIONS, TimedString
from livekit.agents.utils import shortuuid

from runtime_min import FLUSH, Audio, Bundle
from runtime_min.errors import KokoroError

if TYPE_CHECKING:
    from typing import Unpack

    from runtime_min import SpeechOptions


class KokoroTTS(TTS):
    """Speaks with a bundle; several agents may share it."""

    def __init__(self, bundle: Bundle, voice: str = "af_heart", **options: Unpack[SpeechOptions]) -> None:
        """Takes a bundle, and a voice and options as `Bundle.stream` takes them."""
        super().__init__(
            capabilities=TTSCapabilities(streaming=True, aligned_transcript=True),
            sample_rate=bundle.manifest.audio.sample_rate,
            num_channels=1,
        )
        self.bundle = bundle
        self.voice = voice
        self.options = options

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.bundle.manifest.model.name

    @property
    def provider(self) -> str:
        """Name of this project."""
        return "kokoro-export"

    def synthesize(
        self, text: str, *, conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS
    ) -> ChunkedStream:
        """Returns the speech of a whole text."""
        return self._synthesize_with_stream(text, conn_options=conn_options)

    def stream(self, *, conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS) -> _Stream:
        """Returns a speech whose text is pushed."""
        return _Stream(self, conn_options)


class _Stream(SynthesizeStream):
    def __init__(self, speaker: KokoroTTS, conn_options: APIConnectOptions) -> None:
        super().__init__(tts=speaker, conn_options=conn_options)
        self._speaker = speaker

    async def _run(self, output_emitter: AudioEmitter) -> None:
        speaker = self._speaker
        output_emitter.initialize(
            request_id=shortuuid(),
            sample_rate=speaker.sample_rate,
            num_channels=1,
            mime_type="audio/pcm",
            stream=True,
        )
        output_emitter.start_segment(segment_id=shortuuid())
        try:
            async with speaker.bundle.stream(self._text(), speaker.voice, **speaker.options) as pieces:
                async for piece in pieces:
                    output_emitter.push_timed_transcript(timed(piece))
                    output_emitter.push(piece.pcm16())
        except KokoroError as error:
            # livekit pushes white space too, and expects no error for it.
            if self._pushed_text.strip():
                raise APIError(str(error), retryable=False) from error
        output_emitter.end_segment()

    async def _text(self) -> AsyncIterator[Any]:
        """Yields what is pushed; a flush matters only if text follows."""
        flushed = False
        async for found in self._input_ch:
            if not isinstance(found, str):
                flushed = True
                continue
            self._mark_started()
            if flushed:
                flushed = False
                yield FLUSH
            yield found


def timed(piece: Audio) -> list[TimedString]:
    """Returns the words of a piece with what stands between them, and their times from the beginning."""
    starts = [0, *piece.word_ends[:-1]]
    ends = [*piece.word_ends[:-1], len(piece.text)]
    places = zip(piece.words, starts, ends, strict=False)
    return [TimedString(piece.text[start:end], word.start, word.end) for word, start, end in places]
