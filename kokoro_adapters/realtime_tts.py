"""An engine for RealtimeTTS that takes the tokens of a language model as they come.

stream = TextToAudioStream(KokoroBundleEngine(Bundle.load("bundles/kokoro")))
stream.feed(tokens).play_async()
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from RealtimeTTS import BaseEngine, TimingInfo

from runtime_min import Bundle
from runtime_min.errors import EmptyInputError

if TYPE_CHECKING:
    from typing import Unpack

    from runtime_min import SpeechOptions

_INT16 = 8
"""PyAudio's number of the format."""


class KokoroBundleEngine(BaseEngine):
    """Speaks with a bundle, and tells when each word is heard."""

    def __init__(self, bundle: Bundle, voice: str = "af_heart", **options: Unpack[SpeechOptions]) -> None:
        """Takes a bundle, and a voice and options as `Bundle.stream` takes them."""
        self._bundle = bundle
        self._voice = voice
        self._options = options

    def post_init(self) -> None:
        """Says what the engine can do; RealtimeTTS calls it."""
        self.engine_name = "kokoro_bundle"
        self.can_consume_generators = True
        self.provides_word_timings = True

    def get_stream_info(self) -> tuple[int, int, int]:
        """Returns PyAudio's format, the channels and the rate."""
        return _INT16, 1, self._bundle.manifest.audio.sample_rate

    def synthesize(self, text: str | Iterable[str], sentence_count: int = 0) -> bool:
        """Puts the speech of a text, or of its pieces as they come, into the queue.

        Returns:
            False if the engine was stopped before the end.
        """
        super().synthesize(text, sentence_count)
        begin = self.audio_duration
        try:
            with self._bundle.stream(text, self._voice, **self._options) as pieces:
                for piece in pieces:
                    if self.stop_synthesis_event.is_set():
                        return False
                    for word in piece.words:
                        self.timings.put(TimingInfo(begin + word.start, begin + word.end, word.text))
                    self.queue.put(piece.pcm16())
                    self.audio_duration += piece.duration
        except EmptyInputError:
            # Such as a row of stars.
            pass
        return True

    def get_voices(self) -> list[str]:
        """Returns the names of the voices."""
        return [str(voice) for voice in self._bundle.voices]

    def set_voice(self, voice: str | object) -> None:
        """Takes the name of a voice, or a blend."""
        self._voice = str(voice)

    def set_voice_parameters(self, **voice_parameters: Unpack[SpeechOptions]) -> None:
        """Takes options of `Bundle.stream`, such as `speed`."""
        self._options = {**self._options, **voice_parameters}
