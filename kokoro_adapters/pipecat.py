"""A TTSService for pipecat that speaks with a bundle in this process, with the time of each word.

    tts = KokoroBundleTTS(Bundle.load("bundles/kokoro"), voice="af_heart")
    Pipeline([..., llm, tts, transport.output()])

An interruption ends the speech after the stage of the model that is being computed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from pipecat.audio.utils import create_stream_resampler
from pipecat.frames.frames import ErrorFrame, Frame, TTSAudioRawFrame
from pipecat.services.settings import TTSSettings
from pipecat.services.tts_service import TTSService

from runtime_min import Bundle
from runtime_min.errors import EmptyInputError, KokoroError

if TYPE_CHECKING:
    from runtime_min import SpeechOptions


class KokoroBundleTTS(TTSService):
    """Speaks the sentences that pipecat hands on."""

    def __init__(
        self,
        bundle: Bundle,
        *,
        voice: str = "af_heart",
        options: SpeechOptions | None = None,
        **kwargs: Any,
    ) -> None:
        """Takes a bundle, a voice, and options as `Bundle.stream` takes them.

        Args:
            bundle: the bundle; several services may share it.
            voice: a name or a blend; `TTSUpdateSettingsFrame` changes it.
            options: of `Bundle.stream`, such as ``{"speed": 1.1}``.
            kwargs: of `TTSService`.
        """
        super().__init__(
            push_start_frame=True,
            push_stop_frames=True,
            # The words are pushed with their times.
            push_text_frames=False,
            settings=TTSSettings(model=bundle.manifest.model.name, voice=voice, language=None),
            **kwargs,
        )
        self._bundle = bundle
        self._options: SpeechOptions = options or {}
        self._resampler = create_stream_resampler()
        self._context: str | None = None
        self._seconds = 0.0
        """Of audio in the present context, whose sentences have one time line."""

    def can_generate_metrics(self) -> bool:
        """Returns True: the time to the first byte is measured."""
        return True

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame | None, None]:
        """Yields the audio of a text, piece by piece."""
        if context_id != self._context:
            self._context, self._seconds = context_id, 0.0
        begin, rate = self._seconds, self._bundle.manifest.audio.sample_rate
        await self.start_tts_usage_metrics(text)
        try:
            async with self._bundle.stream(text, str(self._settings.voice), **self._options) as pieces:
                async for piece in pieces:
                    await self.stop_ttfb_metrics()
                    await self.start_word_timestamps()
                    words = [(word.text, begin + word.start) for word in piece.words]
                    await self.add_word_timestamps(words, context_id)
                    self._seconds += piece.duration
                    audio = await self._resampler.resample(piece.pcm16(), rate, self.sample_rate)
                    yield TTSAudioRawFrame(audio, self.sample_rate, 1, context_id=context_id)
        except EmptyInputError:
            # Such as a row of stars.
            pass
        except KokoroError as error:
            yield ErrorFrame(error=str(error))
        finally:
            await self.stop_ttfb_metrics()
