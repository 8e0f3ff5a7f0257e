"""The loudness of voices, measured while each speaks one sentence.

Of sixteen voices of the real model, it is as loud as 26 sentences together to 0.15 LU (RMS; at most 0.3),
where other sentences are to 0.3. In voices of other languages it is as loud as sentences of theirs. More
sentences would cost more time than they are worth.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from exporter.processes import Process
from runtime_min import Bundle
from runtime_min.errors import InputError, MachineError
from runtime_min.format.signatures import SAMPLE_RATE

PHONEMES = "ɐ smˈɔl bˈOt dɹˈɪftᵻd slˈOli dˌWn ðə ɹˈɪvəɹ, pˈæst ði ˈOld mˈɪl."
_OFFICIAL = Path(__file__).parents[1] / "model" / "data" / "loudness.json"
_INTEGRATED = "lavfi.r128.I"
_SILENT = -70.0
"""LUFS that stand for silence: the gate of the standard excludes quieter sound."""


def official_loudness(precision: str) -> dict[str, int]:
    """Returns the loudness of the 54 official voices with the official weights, in hundredths of LUFS.

    Bundles of ``--checkpoint packages`` were measured. The precision changes af_heart by 0.11 LU, because one
    sound lasts a frame longer in float32, and no other voice by more than 0.01 LU.
    """
    found: dict[str, dict[str, int]] = json.loads(_OFFICIAL.read_text(encoding="utf-8"))
    return found[precision]


def measure_loudness(bundle: Path, voices: Sequence[str]) -> dict[str, int] | None:
    """Returns the loudness of voices in hundredths of LUFS, by name; None if the bundle cannot run here.

    The bundle speaks in a process of its own, because this one may hold TVM's compiler.

    Args:
        bundle: a whole bundle.
        voices: names of voices that it has.

    Raises:
        ReferenceProcessError: the process failed otherwise.
    """
    with Process(_send_loudness, bundle, tuple(voices)) as process:
        found: dict[str, int] | None = process.receive()
    return found


def _send_loudness(connection: Connection, path: Path, voices: Sequence[str]) -> None:
    try:
        with Bundle.load(path) as bundle:
            found = {
                voice: loudness(bundle.synthesize(phonemes=PHONEMES, voice=voice).samples) for voice in voices
            }
    except (InputError, MachineError):
        connection.send(None)
    else:
        connection.send({voice: value for voice, value in found.items() if value is not None})


def loudness(samples: NDArray[np.float32]) -> int | None:
    """Returns the integrated loudness (ITU-R BS.1770) in hundredths of LUFS; None of silence.

    Args:
        samples: float32 ``[n]``, with 24,000 in a second.
    """
    graph = av.filter.Graph()
    rate, layout = SAMPLE_RATE, "mono"
    source = graph.add_abuffer(sample_rate=rate, format="flt", layout=layout)
    meter, sink = graph.add("ebur128", "metadata=1"), graph.add("abuffersink")
    source.link_to(meter)
    meter.link_to(sink)
    graph.configure()
    frame = av.AudioFrame.from_ndarray(samples[None], format="flt", layout=layout)
    frame.sample_rate, frame.pts = rate, 0
    source.push(frame)
    source.push(None)
    found = _SILENT
    while True:
        try:
            metadata = sink.pull().metadata
        except (av.error.EOFError, av.error.BlockingIOError):
            break
        found = float(metadata.get(_INTEGRATED, found))
    return round(100 * found) if _SILENT < found <= 0 else None
