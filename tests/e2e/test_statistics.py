"""The statistics of a voice: a part of an utterance is as loud as in the whole."""

from __future__ import annotations

import numpy as np
import pytest

from exporter.bundle.statistics import statistics_files
from exporter.reference.process import Reference
from exporter.reference.utterances import PANGRAM, Utterance, make_request
from exporter.reference.voice_statistics import PASSAGES
from runtime_min import Bundle
from runtime_min.model.distances import snr
from runtime_min.model.statistics import norm_channels
from tests.support.utterances import phonemes_of

pytestmark = pytest.mark.e2e


def test_the_statistics_of_an_utterance_itself_leave_it_as_it_is(
    bundle: Bundle, reference: Reference
) -> None:
    request = make_request(
        Utterance(PANGRAM, "af_heart"), bundle.manifest.vocabulary, bundle.voice_tables["af_heart"]
    )
    found = {norm: each.astype(np.float16) for norm, each in reference.norm_statistics([request]).items()}
    decoder, trace = bundle.stage("decoder"), bundle.trace(PANGRAM)
    (content,) = statistics_files(decoder.stage.parameters, {"voice": found}).files.values()
    channels = norm_channels(bundle.manifest)
    parts = np.split(
        np.frombuffer(content, "<f2").astype(np.float32), 2 * np.cumsum(list(channels.values()))[:-1]
    )
    parameters = {
        name: np.stack([part[: len(part) // 2], part[len(part) // 2 :] ** 2])
        for name, part in zip(channels, parts, strict=True)
    }
    curves = {"asr": trace.asr, "f0": trace.f0, "energy": trace.energy}
    inputs = {**curves, "decoder_style": trace.style.decoder, "noise": trace.noise}
    own = decoder.run(inputs)["audio"]
    np.testing.assert_array_equal(own, trace.audio)
    assert snr(decoder.run(inputs, parameters=parameters)["audio"], own) > 30
    # Those of the neighbouring channel are wrong, so that nothing finite may come out.
    shifted = {name: np.roll(each, 1, axis=1) for name, each in parameters.items()}
    assert not snr(decoder.run(inputs, parameters=shifted)["audio"], own) > 5


@pytest.mark.parametrize("voice", ["af_heart", "bm_george", "ef_dora"])
def test_the_first_words_of_a_stream_are_few_and_as_loud_as_in_one_pass(bundle: Bundle, voice: str) -> None:
    passage = PASSAGES[2]
    first = next(iter(bundle.stream(phonemes=passage, voice=voice, trim=False)))
    assert 6 <= len(first.phonemes) <= 20
    whole = bundle.synthesize(phonemes=passage, voice=voice)
    spoken = slice(*(round(24_000 * at) for at in (first.tokens[0].start, first.tokens[-2].end)))
    same = whole.tokens[len(first.tokens) - 2]
    expected = whole.samples[round(24_000 * whole.tokens[0].start) : round(24_000 * same.end)]
    off = 20 * np.log10(rms(first.samples[spoken]) / rms(expected))
    assert abs(off) < 2, off


def test_a_short_text_is_decoded_with_statistics_of_its_own(bundle: Bundle) -> None:
    text = phonemes_of(60)
    first = next(iter(bundle.stream(phonemes=text)))
    # Without those of the voice, the first piece is not cut down to its first words.
    assert len(first.phonemes) >= 10


def rms(samples: np.ndarray) -> float:
    return float(np.sqrt(np.mean(samples.astype(np.float64) ** 2)))
