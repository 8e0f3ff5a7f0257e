"""A plugin for OVOS, which `mycroft.conf` chooses.

    "tts": {"module": "kokoro-bundle", "kokoro-bundle": {"bundle": "/opt/kokoro", "voice": "af_heart"}}

`speed` is a setting, too.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ovos_plugin_manager.templates.tts import TTS
from ovos_utils import classproperty

from runtime_min import Bundle

LANGUAGES = frozenset({"en-US", "en-GB", "es-ES", "fr-FR", "hi-IN", "it-IT", "pt-BR", "zh-CN"})
"""What a bundle with all data for text speaks without any other package."""


class KokoroPlugin(TTS):
    """Speaks into files, as OVOS plays them; the bundle is loaded when it is first needed."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, audio_ext="wav", **settings)

    @classproperty
    def available_languages(cls) -> set[str]:
        """Languages by their tags."""
        return set(LANGUAGES)

    @cached_property
    def _bundle(self) -> Bundle:
        return Bundle.load(self.config["bundle"])

    def get_tts(
        self, sentence: str, wav_file: str, lang: str | None = None, voice: str | None = None
    ) -> tuple[str, None]:
        """Writes the speech of a sentence into a WAV file.

        Args:
            sentence: the text.
            wav_file: the file.
            lang: the language; by default that of the assistant.
            voice: a name or a blend; by default that of the settings, or one of the language.
        """
        language = lang or self.lang
        chosen = voice or self.config.get("voice") or self._voice_of(language)
        speed = float(self.config.get("speed", 1.0))
        self._bundle.synthesize(sentence, chosen, language=language, speed=speed).save(wav_file)
        return wav_file, None

    def _voice_of(self, language: str) -> str:
        """Returns the first voice of a language; another voice speaks it if none has it."""
        voices = self._bundle.voices
        spoken = language.partition("-")[0].lower()
        of_it = (voice for voice in voices if (voice.language or "").partition("-")[0].lower() == spoken)
        return next(of_it, voices[0])
