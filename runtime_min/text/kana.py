"""Kana to Kokoro's phonemes, as misaki has them.

>>> phonemes("サンポ")
'sampo'
"""

from __future__ import annotations

from collections.abc import Iterator


def _two(written: str) -> Iterator[tuple[str, str]]:
    parts = written.split(" ")
    return zip(parts[::2], parts[1::2], strict=True)


_SINGLE = (
    "アァ a イィヰ i ウゥ ɯ エェヱ e オォヲ o カヵ ka キ kʲi ク kɯ ケヶ ke コ ko ガ ɡa ギ ɡʲi グ ɡɯ "
    "ゲ ɡe ゴ ɡo サ sa シ ɕi ス sɨ セ se ソ so ザ ʣa ジヂ ʥi ズヅ zɨ ゼ ʣe ゾ ʣo タ ta チ ʨi ツ ʦɨ "
    "テ te ト to ダ da デ de ド do ナ na ニ ɲi ヌ nɯ ネ ne ノ no ハ ha ヒ çi フ ɸɯ ヘ he ホ ho バ ba "
    "ビ bʲi ブ bɯ ベ be ボ bo パ pa ピ pʲi プ pɯ ペ pe ポ po マ ma ミ mʲi ム mɯ メ me モ mo ヤャ ja "
    "ユュ jɯ ヨョ jo ラ ɾa リ ɾʲi ル ɾɯ レ ɾe ロ ɾo ワヮ βa ヴ vɯ ヷ va ヸ vʲi ヹ ve ヺ vo ー ː ッ ʔ"
)
"""Single kana and their phonemes."""
_PAIRS = (
    "イェ je ウィ βi ウェ βe ウォ βo キェ kʲe クァ kᵝa クィ kᵝi クェ kᵝe クォ kᵝo グァ ɡᵝa グィ ɡᵝi "
    "グェ ɡᵝe グォ ɡᵝo シェ ɕe ジェ ʥe チェ ʨe ツァ ʦa ツィ ʦʲi ツェ ʦe ツォ ʦo ティ tʲi テュ tʲɨ "
    "ディ dʲi デュ dʲɨ トゥ tɯ ドゥ dɯ ニェ ɲe ヒェ çe ファ ɸa フィ ɸʲi フェ ɸe フォ ɸo フュ ɸʲɨ "
    "フョ ɸʲo ヴァ va ヴィ vʲi ヴェ ve ヴォ vo ヴュ bʲɨ ヴョ bʲo"
)
"""Two kana that are a sound together, but for those of `_PALATAL`."""
_PALATAL = "キ kʲ ギ ɡʲ シ ɕ ジ ʥ チ ʨ ヂ ʥ ニ ɲ ヒ ç ビ bʲ ピ pʲ ミ mʲ リ ɾʲ"
_GLIDES = {"ャ": "a", "ュ": "ɨ", "ョ": "o"}
_SMALL = "ャュョァィゥェォ"
_NASALS = {sound: nasal for sounds, nasal in _two("mpb m kɡ ŋ ɲʨʥ ɲ ntdɾz n") for sound in sounds}
"""Sounds, and what ン before them is."""
_FIRST = 0x30A0
"""The character of the byte 0."""
_KATAKANA = {code: code + 0x60 for code in (*range(0x3041, 0x3097), 0x309D, 0x309E)}
_VOICED = dict(
    zip(
        "カキクケコサシスセソタチツテトハヒフヘホウかきくけこさしすせそたちつてとはひふへほう",
        "ガギグゲゴザジズゼゾダヂヅデドバビブベボヴがぎぐげござじずぜぞだぢづでどばびぶべぼゔ",
        strict=True,
    )
)
VOICING = "゛゜ﾞﾟ\u3099\u309a"
"""Marks that change the kana before them."""
_HALF_VOICED = dict(zip("ハヒフヘホはひふへほ", "パピプペポぱぴぷぺぽ", strict=True))


SOUNDS = {kana: sound for group, sound in _two(_SINGLE) for kana in group}
SOUNDS |= dict(_two(_PAIRS))
SOUNDS |= {i + glide: sound + vowel for i, sound in _two(_PALATAL) for glide, vowel in _GLIDES.items()}
"""Phonemes of a kana, or of two that are a sound together."""


def decoded(data: bytes) -> str:
    """Returns the katakana of a reading in a file."""
    return "".join([chr(_FIRST + byte) for byte in data])


def encoded(reading: str) -> bytes:
    """Returns the bytes of `decoded`."""
    return bytes(ord(each) - _FIRST for each in reading.translate(_KATAKANA))


def voiced(letter: str, mark: str) -> str | None:
    """Returns a kana with a mark of `VOICING`; None if it has none."""
    return (_HALF_VOICED if VOICING.index(mark) % 2 else _VOICED).get(letter)


def phonemes(written: str) -> str | None:
    """Returns the phonemes of kana, None if there is another character.

    A small kana that makes no sound with the kana before it is silent, or takes the place of its vowel.
    """
    letters = written.translate(_KATAKANA)
    found = ""
    place = 0
    while place < len(letters):
        letter, following = letters[place], letters[place + 1 : place + 2]
        place += 1
        if letter == "ン":
            found += _NASALS.get(SOUNDS.get(following, "")[:1], "ɴ")
        elif letter not in SOUNDS:
            return None
        elif sound := SOUNDS.get(letter + following) if following else None:
            found += sound
            place += 1
        elif following and following in _SMALL and letter not in "ッー":
            found += SOUNDS[letter][:-1] + SOUNDS[following]
            place += 1
        elif letter not in _SMALL:
            found += SOUNDS[letter]
    return found
