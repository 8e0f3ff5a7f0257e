"""A TTSService for pipecat that speaks with a bundle in this process, with the time of each word.

    tts = KokoroBundleTTS(Bundle.load("bundles/kokoro"), voice="af_heart")
    Pipeline([..., llm, tts, transport.output()])

pipecat hands on sentences. With ``text_aggregation_mode=TextAggregationMode.TOKEN`` it hands on the tokens of
the language model: speech then begins after the first clause, and an answer is one speech.

An interruption ends the speech after the stage of the model that is being computed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable
from typing import TYPE_CHECKING, Any, NamedTuple

from pipecat.audio.utils import create_stream_resampler
from pipecat.frames.frames import ErrorFrame, Frame, TTSAudioRawFrame, TTSStoppedFrame
from pipecat.services.settings import TTSSettings
from pipecat.services.tts_service import TextAggregationMode, TTSService

from runtime_min import Bundle
from runtime_min.errors import EmptyInputError, KokoroError

if TYPE_CHECKING:
    from runtime_min import SpeechOptions


class _Answer(NamedTuple):
    """An answer whose tokens are arriving."""

    tokens: asyncio.Queue[str | None]
    """None is the end."""
    task: asyncio.Task[None]
    """Speaks them."""


class KokoroBundleTTS(TTSService):
    """Speaks the sentences or tokens that pipecat hands on."""

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
            voice: a name or a blend; `TTSUpdateSettingsFrame` changes it, for an answer in tokens from the
                next answer on.
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
        self._answers: dict[str, _Answer] = {}
        """By context; sentences need none."""

    def can_generate_metrics(self) -> bool:
        """Returns True: the time to the first byte is measured."""
        return True

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame | None, None]:
        """Yields the audio of a sentence, piece by piece; a token is taken, and its audio comes later."""
        await self.start_tts_usage_metrics(text)
        if self._text_aggregation_mode == TextAggregationMode.TOKEN:
            self._take(text, context_id)
            yield None
            return
        async for frame in self._speak(text, context_id):
            yield frame

    async def flush_audio(self, context_id: str | None = None) -> None:
        """Ends an answer: pipecat hands on no more tokens of it."""
        if context_id in self._answers:
            self._answers[context_id].tokens.put_nowait(None)

    async def on_audio_context_interrupted(self, context_id: str) -> None:
        """Ends the speech of an answer that nobody listens to."""
        if context_id in self._answers:
            await self.cancel_task(self._answers.pop(context_id).task)

    async def cleanup(self) -> None:
        """Ends the speech of all answers."""
        for context_id in list(self._answers):
            await self.on_audio_context_interrupted(context_id)
        await super().cleanup()

    def _take(self, token: str, context_id: str) -> None:
        if context_id not in self._answers:
            tokens = asyncio.Queue[str | None]()
            self._answers[context_id] = _Answer(
                tokens, self.create_task(self._speak_answer(tokens, context_id))
            )
        self._answers[context_id].tokens.put_nowait(token)

    async def _speak_answer(self, tokens: asyncio.Queue[str | None], context_id: str) -> None:
        """Puts the audio of an answer into its context while it is still being written."""
        async for frame in self._speak(_until_end(tokens), context_id):
            await self.append_to_audio_context(context_id, frame)
        await self.append_to_audio_context(context_id, TTSStoppedFrame(context_id=context_id))
        await self.remove_audio_context(context_id)
        self._answers.pop(context_id, None)

    async def _speak(self, text: str | AsyncIterable[str], context_id: str) -> AsyncGenerator[Frame, None]:
        if context_id != self._context:
            self._context, self._seconds = context_id, 0.0
        begin, rate = self._seconds, self._bundle.manifest.audio.sample_rate
        try:
            async with self._bundle.stream(text, str(self._settings.voice), **self._options) as pieces:
                async for piece in pieces:
                    words = [(word.text, begin + word.start) for word in piece.words]
                    # The bundle times punctuation as words of its own, and pipecat shows words with it.
                    await self.add_word_timestamps(words, context_id, pre_merge_tokens=True)
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


async def _until_end(tokens: asyncio.Queue[str | None]) -> AsyncGenerator[str, None]:
    while (token := await tokens.get()) is not None:
        yield token
