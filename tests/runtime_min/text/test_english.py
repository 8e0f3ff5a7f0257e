from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_min.speech.words import Word
from runtime_min.text.controls import read_controls
from tests.support.english_text import english, whole_english


def spoken(text: str, tags: str = "", language: str = "en-us") -> str:
    words = english(tags.split() or None, language)(text)
    return "".join((word.phonemes or "") + word.whitespace for word in words)


@pytest.mark.parametrize(
    ("text", "tags", "phonemes"),
    [
        ("Hello world.", "UH NN .", "həlˈO wˈɜɹld."),
        ("The apple and the banana", "DT NN CC DT NN", "ði ˈæpᵊl ænd ðə bənˈænə"),
        ("to eat, to sleep", "TO VB , TO VB", "tʊ ˈit, tə slˈip"),
        ("I used to use it", "PRP VBD TO VB PRP", "ˌI jˈust tə jˈuz ɪt"),
        ("I record a record.", "PRP VBP DT NN .", "ˌI ɹəkˈɔɹd ɐ ɹˈɛkəɹd."),
        ("That is all I have.", "DT VBZ DT PRP VBP .", "ðˈæt ɪz ˈɔl ˌI hˈæv."),
        ("buses wanted running", "NNS VBD VBG", "bˈʌsᵻz wˈɑntᵻd ɹˈʌnɪŋ"),
        ("the cat's bowl, James' book", "DT NN POS NN , NNP POS NN", "ðə kˈæts bˈOl, ʤˈAmz bˈʊk"),
        ("mother-in-law twenty-one", "NN HYPH IN HYPH NN CD HYPH CD", "mˈʌðəɹənlˌɔ twˌɛntiwˈʌn"),
        ("NASA FBI iPhone McDonald", "NNP NNP NNP NNP", "nˈæsə ˌɛfbˌiˈI ˈIfˌOn məkdˈɑnəld"),
        ("AT&T 1% @home", "NNP CD IN NN", "ˌAtˈi ænd tˈi wˈʌn pəɹsˈɛnt æt hˈOm"),
        ("“Yes,” she said (twice)", "`` UH , '' PRP VBD -LRB- RB -RRB-", "“jˈɛs,” ʃi sˈɛd (twˈIs)"),
        ('"Yes"', "`` UH ''", "“jˈɛs”"),
    ],
)  # fmt: skip
def test_words_are_spoken_as_misaki_does(text: str, tags: str, phonemes: str) -> None:
    assert spoken(text, tags) == phonemes


@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("No, it wasn’t.", "nˈO, ɪt wˈʌzᵊnt."),
        ("she said—‘Really?’", "ʃi sˈɛd—“ɹˈiᵊli?”"),
        ("rock and roll -- now", "ɹˈɑk ænd ɹˈOl — nˈW"),
        ("café", "kæfˈA"),
        ("Ｈｅｌｌｏ", "həlˈO"),
        ("✈", "plˈAn"),
        ("qzxxw", "?"),
        ("qzxxw’s", "?z"),
        ("O'Qzxxw", "ˌO?"),
        ("O'Qneill, résumé, btw", "ˌO?, ɹˈɛzəmˌA, bˌitˌidˈʌbᵊlju"),
        ("5-3=2", "fˈIv mˈInəs θɹˈi ˈikwᵊlz tˈu"),
        ("R2-D2’s, AT&T's", "ˈɑɹ tˈu dˈi tˈuz, ˌAtˈi ænd tˈiz"),
    ],
)
def test_what_misaki_loses_is_spoken(text: str, phonemes: str) -> None:
    assert spoken(text) == phonemes


def test_british_words_before_ing_keep_their_r() -> None:
    assert spoken("powering", "VBG", "en-gb") == "pˈWəɹɪŋ"


@pytest.mark.parametrize("text", ["E. coli", "The T. rex ran.", "S. aureus"])
def test_the_initial_of_a_genus_ends_no_sentence(text: str) -> None:
    spoken = "".join(word.phonemes or "" for word in english()(text))
    assert spoken.strip(".").count(".") == 0


def test_signs_of_markdown_are_silent() -> None:
    words = english()("## It\n> was # it")
    assert [(word.text, word.phonemes) for word in words if not word.text.isalpha()] == [
        ("##", ""),
        (">", ""),
        ("#", "hˈæʃ"),
    ]


@pytest.mark.parametrize(
    ("text", "american", "british"),
    [
        ("crème", "kɹˈɛm", "kɹˈɛm"),
        ("cre\u0300me", "kɹˈɛm", "kɹˈɛm"),
        ("jalapeños", "hˌɑləpˈAnjOz", "hˌaləpˈAnjQz"),
        ("déjà", "dˌAʒˈɑ", "dˌAʒˈɑː"),
        ("García-Márquez", "ɡɑɹsˌiəmˈɑɹkɛz", "ɡɑːsˈiːəmˌɑːkɛz"),
        ("GitHub", "ɡˈɪthˌʌb", "ɡˈɪthˌʌb"),
        ("LLaMA", "lˈɑmə", "lˈɑːmə"),
        ("Siobhan's", "ʃɪvˈɔnz", "ʃɪvˈɔːnz"),
        ("Donald", "dˈɑnᵊld", "dˈɒnᵊld"),
        ("McShane", "məkʃˈAn", "mˌəkʃˈAn"),
        ("undergone", "ˌʌndəɹɡˈɔn", "ˌʌndəɡˈɒn"),
        ("NaOH", "ˌɛnˌAˌOˈAʧ", "ˌɛnˌAˌQˈAʧ"),
    ],
)
def test_words_that_the_letter_model_misreads_are_listed(text: str, american: str, british: str) -> None:
    spoken = [whole_english(language)(text)[0].phonemes for language in ("en-us", "en-gb")]
    assert spoken == [american, british]


def test_letters_with_accents_are_respelled_for_the_letter_model() -> None:
    def spoken(text: str) -> str | None:
        return whole_english()(text)[0].phonemes

    assert (spoken("zuñido"), spoken("faconçe")) == (spoken("zunyido"), spoken("faconse"))


def test_a_written_form_has_a_genitive() -> None:
    assert [word.phonemes for word in english()("Henry VIII's wife")][1] == "ði ˈAθs"


def test_controls() -> None:
    assert spoken("[Kokoro](/kˈOkəɹO/) [hello](-2) [link](https://example.org) [of](+1)") == (
        "kˈOkəɹO həlO lˈɪŋk ˌʌv"
    )


def test_flags_of_numbers_are_misakis() -> None:
    assert spoken("[105](#a#) [105](#&#) [105](#n#) [1905](#o#) [42](#an#)") == (
        "ə hˈʌndɹəd fˈIv wˈʌn hˈʌndɹəd ænd fˈIv wˈʌn hˈʌndɹədən fˈIv nˌIntˈin ˈO fˈIv fˈɔɹTi tˈu"
    )
    assert spoken("[2,000,105,007](#a&#)") == ("tˈu bˈɪljən wˈʌn hˈʌndɹəd ænd fˈIv θˈWzᵊnd ænd sˈɛvən")


def test_words_have_the_text_that_is_written() -> None:
    words = english()("  Don’t [say](/sˈA/)\n¡no!  ")
    assert [(word.text, word.whitespace) for word in words] == [
        ("", "  "), ("Don’t", " "), ("say", "\n"), ("¡", ""), ("no", ""), ("!", "  "),
    ]  # fmt: skip


def test_what_cannot_be_spoken_is_marked() -> None:
    assert [word for word in english()("a 世界 b\ue000") if word.phonemes is None] == [
        Word("世界", None, " "),
        Word("\ue000", None, ""),
    ]


TEXT = st.text(
    st.one_of(st.sampled_from("aA'’.-,([])/\n 12$€“é世😀\u0301\u200d"), st.characters()), max_size=60
)


@settings(deadline=None)
@given(TEXT)
def test_words_make_up_the_text(text: str) -> None:
    words = english()(text)
    assert "".join(word.text + word.whitespace for word in words) == read_controls(text)[0]
    assert all(word.whitespace.isspace() or not word.whitespace for word in words)
