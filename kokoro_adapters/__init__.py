"""Voices for frameworks of agents and assistants, each in a module of its own that imports the framework.

| module | class | for |
|---|---|---|
| `pipecat` | `KokoroBundleTTS` | pipecat 1.14 |
| `livekit` | `KokoroTTS` | livekit-agents 1.8 |
| `ovos` | `KokoroPlugin` | OVOS, as the plugin ``kokoro-bundle`` of ovos-plugin-manager 2 |
| `realtime_tts` | `KokoroBundleEngine` | RealtimeTTS 0.8 |

They need the runtime's public API alone.
"""
