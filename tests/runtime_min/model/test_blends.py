"""A voice is a name, a blend, names or an array; anything else is refused by type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.errors import BlendError, UnknownVoiceError, VoiceArrayError
from runtime_min.model.voices import VoiceName, parse_blend, style_row

ROWS, COLUMNS = 20, 6
NAMES = ("af_heart", "am_adam", "bf_emma")
RANDOM = np.random.default_rng(0)
VOICES = {name: RANDOM.standard_normal((ROWS, COLUMNS)).astype(np.float32) for name in NAMES}
WEIGHTS = st.lists(st.floats(0, 100), min_size=1, max_size=3).filter(lambda weights: sum(weights) > 1e-3)


def row(voice: Any, phonemes: int = 3) -> np.ndarray:
    style = style_row(VOICES, voice, phonemes)
    assert style.decoder.shape == style.prosody.shape == (1, COLUMNS // 2)
    assert style.decoder.dtype == style.prosody.dtype == np.float32
    return np.concatenate([style.decoder[0], style.prosody[0]])


@pytest.mark.parametrize("phonemes", [1, 7, ROWS])
def test_a_name_gives_the_row_of_its_length_to_the_bit(phonemes: int) -> None:
    np.testing.assert_array_equal(row("am_adam", phonemes), VOICES["am_adam"][phonemes - 1])


@given(WEIGHTS)
def test_a_blend_is_the_weighted_mean(weights: list[float]) -> None:
    blend = "+".join(f"{name}*{weight!r}" for name, weight in zip(NAMES, weights, strict=False))
    tables = [VOICES[name].astype(np.float64) for name in NAMES[: len(weights)]]
    expected = np.average(tables, axis=0, weights=weights)[2]
    np.testing.assert_allclose(row(blend), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "voice", ["af_heart,am_adam", " af_heart + am_adam ", ["af_heart", "am_adam"], ("am_adam", "af_heart")]
)
def test_the_comma_form_and_lists_are_kokoros_mean(voice: Any) -> None:
    packs = [torch.from_numpy(VOICES[name]) for name in NAMES[:2]]
    expected = torch.mean(torch.stack(packs), dim=0)[2].numpy()
    np.testing.assert_allclose(row(voice), expected, rtol=1e-6, atol=1e-7)


def test_weights_are_divided_by_their_sum() -> None:
    assert parse_blend("a*3+b") == {"a": 0.75, "b": 0.25}
    assert parse_blend("a+b,a") == {"a": pytest.approx(2 / 3), "b": pytest.approx(1 / 3)}
    assert parse_blend("a*0+b*1e-3") == {"a": 0.0, "b": 1.0}


def test_a_name_with_a_sign_in_it_is_a_name() -> None:
    odd = {"a+b": VOICES["af_heart"]}
    np.testing.assert_array_equal(style_row(odd, "a+b", 1).decoder[0], VOICES["af_heart"][0, :3])


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_an_array_is_a_voice(kind: type[np.floating[Any]]) -> None:
    table = VOICES["bf_emma"].astype(kind)
    for voice in (table, table[:, None], torch.from_numpy(table.copy())):
        np.testing.assert_array_equal(row(voice, 5), table[4].astype(np.float32))
    for voice in (table[7], table[7:8]):
        np.testing.assert_array_equal(row(voice, 5), table[7].astype(np.float32))


@pytest.mark.parametrize(
    "blend",
    [
        "+ ",
        " ",
        " a+ ",
        " *2 ",
        " a**2 ",
        " a* ",
        " a*x ",
        " a*-1 ",
        " a*-1+b*2 ",
        " a*nan ",
        " a*inf ",
        " a*0 ",
        " a*0,b*0 ",
        " a*1e308+b*1e308",
    ],
)
def test_a_malformed_blend_is_refused(blend: str) -> None:
    with pytest.raises(BlendError, match="Write it as"):
        parse_blend(blend)


@pytest.mark.parametrize("voice", ["af_hart", "", "af_heart+am_adm", ["af_heart", "no"], "am_adm*0.5"])
def test_an_unknown_voice_is_named_also_in_a_blend(voice: Any) -> None:
    with pytest.raises(UnknownVoiceError, match=r"no voice '(af_hart||am_adm|no)'"):
        row(voice)


@pytest.mark.parametrize(
    ("voice", "found"),
    [
        (VOICES["af_heart"][:-1], r"float32 \[19, 6\]"),
        (VOICES["af_heart"].T, r"float32 \[6, 20\]"),
        (np.zeros((ROWS, 1, COLUMNS), np.int64), r"int64 \[20, 1, 6\]"),
        (np.zeros(COLUMNS, complex), r"complex128 \[6\]"),
        (np.zeros(()), r"float64 \[\]"),
        (np.full(COLUMNS, np.nan), "not a number"),
        (np.full((ROWS, COLUMNS), -np.inf, np.float32), "beyond 100"),
        (None, "NoneType"),
        (7, "int"),
        ([], "list"),
        (["af_heart", 1], "list"),
        ({"af_heart": 1}, "dict"),
        ([[1.0], [2.0, 3.0]], "list"),
    ],
)
def test_anything_but_a_voice_is_refused(voice: Any, found: str) -> None:
    with pytest.raises(VoiceArrayError, match=rf"(\[20, 1, 6\], .*|values ){found}"):
        row(voice)


@pytest.mark.parametrize(
    ("name", "language", "sex"),
    [
        ("af_heart", "en-US", "female"),
        ("bm_george", "en-GB", "male"),
        ("ef_dora", "es", "female"),
        ("ff_siwis", "fr-FR", "female"),
        ("hm_omega", "hi", "male"),
        ("if_sara", "it", "female"),
        ("jf_alpha", "ja", "female"),
        ("pm_santa", "pt-BR", "male"),
        ("zf_xiaobei", "zh", "female"),
        ("narrator", None, None),
        ("x", None, None),
        ("", None, None),
        ("qq_odd", None, None),
    ],
)
def test_a_name_tells_language_and_sex(name: str, language: str | None, sex: str | None) -> None:
    voice = VoiceName(name)
    assert (voice, voice.language, voice.sex) == (name, language, sex)


def test_an_array_in_a_bundle_without_voices_is_refused_by_type() -> None:
    with pytest.raises(UnknownVoiceError, match="It has none"):
        style_row({}, VOICES["af_heart"], 1)
