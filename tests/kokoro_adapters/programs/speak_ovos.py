"""Speaks as a plugin of OVOS: BUNDLE FOLDER; a failed assertion ends it."""

import sys
import wave
from pathlib import Path

from ovos_plugin_manager.tts import find_tts_plugins, load_tts_plugin

from runtime_min import Bundle

assert "kokoro-bundle" in find_tts_plugins()
plugin = load_tts_plugin("kokoro-bundle")
assert "es-ES" in plugin.available_languages
tts = plugin(config={"bundle": sys.argv[1], "speed": 1.5, "enable_cache": False})
with Bundle.load(sys.argv[1]) as bundle:
    for text, language, voice in (("Hello there.", "en-US", "af_bella"), ("¿Qué tal?", "es-ES", "ef_dora")):
        file, phonemes = tts.get_tts(text, str(Path(sys.argv[2], "x.wav")), lang=language)
        assert phonemes is None
        with wave.open(file) as made:
            found = made.readframes(made.getnframes())
        assert found == bundle.synthesize(text, voice, language=language, speed=1.5).pcm16(), language
print("spoken")
