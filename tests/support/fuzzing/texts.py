"""Texts and SSML documents of every kind, and repetitions that have hurt, or might hurt, readers of text.

A seed always gives the same.
"""

from __future__ import annotations

from random import Random

UNITS = (
    *("a", "A", "aB", "é", "ŋ", "ﬁ", "ab'", "a'", "’", "‘", '"', "''", "a-", "-", "--", "—", "a-a-", "xyzzy"),
    *("1", "1,", "1.", "1/", "1:", "1-", "-1", "1%", "1st2nd3rd", "1 2 3 ", "1½", "1x", "1km/", "5'", "a1"),
    *("$", "$1", "€1.", "¥1", "°", "+1", "1+", "x=", "12:30-", "1999-", "3 May ", "1/2/", "No. ", "St. "),
    *("的", "中国", "一", "馬厩", "2个", "9年", "1:2", "1.2.", "GPT-", "A-1-", "a@a", "《", "“"),
    *("の", "東京都", "3本", "ｶﾞ", "1万", "〒1-", "10月", "龥"),
    *("１", "¥1-", "ａ", "〇", "1 h ", "R$ 5,", "1 234 ", "1,00,"),
    *("[a](lang:fr)", "[a](lang:zh)"),
    *("[", "](", "[a](", "[a](/b/)", "(/", "[pause:", "[pause:1s", "](lang:"),
    *("<", "<<", "<p>", "&", "&amp;", "A&"),
    *(".", "...", ". ", "!?", "a.", "A.", "U.S.", "a@", "@a", "www.", "http://", "a/", "//", "_", "*", "~"),
    *("I", "IV", "MCM", "X ", "Henry I ", "the ", "to ", "used to ", "'s", "'sa", "O'", "Qzx's ", "e.g. "),
    *(" ", "\n", "\t", "\u00a0", "\x00", "\u0301", "e\u0301", "\u200b", "\u200d", "\u202e", "\u202ea"),
    *("\ud800", "\udc00a", "한", "世", "ก", "नमस्ते", "ا", "Ａ", "𝐀", "①"),
    *("😀", "👨‍👩‍👧‍👦", "\u200d👩", "🇺🇸", "🇺", "1️⃣", "\ufe0f", "#", "#a"),
)  # fmt: skip
PROSE = (
    "The old man looked at the sea, and he knew that it was late. She had told him so before they left the "
    "house on the hill. "
)
"""Usual text, for comparison."""
WORST = (
    *("No. ", "€1.", "1½", "1️⃣", "1️⃣>", "?ﬁ", "ﬁe.g.ﬁ", "😀", "😀.", "😀St.", "🇺🇸.", "¼", "½(", "¼…", "٣½"),
    *("\n①", "\n★", ">\n", "1…", "0", "°C?", "m²!", "|½²", "!°C1", "1X", "~12", "12~", "—1", "★"),
    *(".\ufe0f", "°No. ", ";#", "?%", "'&", "—º", "a”'", "[£«", "www.", "readChapter"),
)
"""Repetitions that took the longest for a character."""
VOICES = (
    "af_heart",
    "bf_emma",
    "ef_dora",
    "if_sara",
    "pf_dora",
    "hf_alpha",
    "zf_xiaobei",
    "ff_siwis",
    "jf_alpha",
)
WORDS = (
    *("The", "U.S.", "read", "wound", "live", "résumés", "iPhone", "mother-in-law", "R2-D2", "Kokoro's"),
    *("xyzzy", "O'Qux", "$4.50", "1905", "3/4", "½", "5 km", "12:30pm", "May 5,", "1/2/2020", "2013/14"),
    *("No. 5", "x@y.org", "C++", "H₂O", "10^6", "1–3", "Henry VIII", "24/7", "+1 555-123-4567", "v1.2.3"),
    *("€1.2m", "(1)", "#1", "😀", "🇺🇸", "①", "αβ", "한글", "[of](+1)", "[105](#a#)", "[Kokoro](/kˈOkəɹO/)"),
    *("[ bonjour, ](lang:fr)", "[今日は](lang:ja)", "[colour](lang:en_GB)", "[8](lang:es-MX)"),
    *("[pause:1s]", "世界", "Σίσυφος", "É", "ﬁ", "‘tis", "“No!”", "\n\n", "perché", "città", "l'amico"),
    *("sig. Rossi", "10:30", "1.234,5 €", "XIV", "gnocchi", "pingüino", "guerra", "México", "1️⃣", "½(", "?ﬁ"),
    *("15 h 30", "1 234,50 €", "-R$ 5,50", "US$ 3,20", "1,00,000", "EE. UU. y", "av. J.-C. on", "XXIe"),
    *("01 23 45 67 89", "Pense-t-il", "l'œil", "dix-huit", "les héros", "n° 5", "1  234", "12 345 67"),
    *("book I read", "Book I,", "-5 °C", "20 m²", "x²", "-€3", "km/h", "25"),
    *(
        "## A",
        "> b",
        "❤️",
        "👍🏽",
        "E. coli",
        "on Elm Dr. a",
        "c. 1500",
        "est. in 1990",
        "Leeds Utd.",
        "25 bps",
    ),
    *("120/80 mmHg", "6' tall", "m/s²", "9.8 m/s^2", "10⁻³ mol/L", "VIII's", "1-800-FLOWERS", '55" TV'),
    *(
        "東京都に住んでいる",
        "「はい」と言った。",
        "ﾊﾝﾊﾞｰｶﾞｰ",
        "3本と2人",
        "3万5000円",
        "10月1日、",
        "ボルバキアは",
        "か\u3099",
    ),
    *(
        "03-1234-5678",
        "15:30に",
        "10〜20km",
        "3分の1",
        "本当にGoogleを",
        "第2回",
        "①と㎏",
        "言って",
        "いえません",
    ),
    *("我们在银行工作", "重庆很重要", "女儿的", "歡樂製造機", "2025年10月1日", "下午15:30", "第2个", "2个人"),
    *("3.5%", "GPT-4的", "A股", "5G网络", "¥3.5万", "-5℃", "电话13812345678", "10-20km", "1920x1080"),
    *("１２３", "二〇二五", "《红楼梦》，", "“Hello, world”", "「好」。", "……", "——", "I have 3 apples吗"),
    *("192.168.1.1", "163.com的", "㐀", "3:2", "9:00-17:30", "US$20", "20 USD", "½杯", "RTX 4090"),
    *("2000年前", "C++和C#", "[重](/ꭧʰʊ↗ŋ/)庆", "一\u3000二", "共600路", "拨打110", "10:00:05"),
    *("GitHub", "ASP.NET", "crème", "cre\u0300me", "Quiñ", "ñandu", "Ñç", "façonne", "McShane", "Siobhan's"),
)
MARKUP = (
    *("<speak>", "</speak>", "<p>", "</p>", "<s>", "</s>", '<break time="1s"/>', "<break/>", "a &amp; b"),
    *("&#65;", "<", '<voice name="bf_emma">', "</voice>", '<prosody rate="80%">', "</prosody>"),
    *('<sub alias="b">a</sub>', "<!-- a -->", '<say-as interpret-as="characters">UN</say-as>'),
    *('<phoneme ph="a">b</phoneme>', "<![CDATA[<]]>", "Two words.", "&", "]]>", "<?a b?>"),
    *(
        "&#0;",
        "&#xD800;",
        "<emphasis level='strong'>of</emphasis>",
        "<emphasis> on [a] </emphasis>",
        "<lang xml:lang='fr'> oui [a] </lang>",
        "<lang xml:lang='es-ES'>",
        "<s xml:lang='zh'>",
        "</lang>",
        "<speak xml:lang='it'>",
        "<mark name='m'/>",
        "&lt;",
        "<é>",
    ),
)
_SCRIPTS = (
    *((0x20, 0x7F), (0x20, 0x7F), (0xA0, 0x250), (0x2B0, 0x370), (0x370, 0x530), (0x590, 0x700)),
    *((0x900, 0xA00), (0xE00, 0xE80), (0x1E00, 0x2000), (0x2000, 0x2C00), (0x3040, 0x3100), (0x4E00, 0x4F00)),
    *((0xAC00, 0xAD00), (0xF900, 0xFE10), (0xFE10, 0x10000), (0x1D400, 0x1D800), (0x1F000, 0x1FB00)),
    *((0x00, 0x20), (0x80, 0xA0), (0xE000, 0xE010), (0xE0000, 0xE0080), (0x10000, 0x110000)),
)
_BETWEEN = (" ", " ", " ", " ", "", "", ". ", ", ", "\n", "\n\n", "\t", "\u00a0", " - ", "…")


def text(random: Random) -> str:
    """Returns a line or some paragraphs."""
    between = random.choice(_BETWEEN)
    pieces = [_piece(random) for _ in range(random.choice((1, 2, 3, 5, 8, 13, 40)))]
    if random.random() < 0.3:
        return "".join(piece + random.choice(_BETWEEN) for piece in pieces)
    return between.join(pieces)


def document(random: Random) -> str:
    """Returns SSML, every second one damaged."""
    inside = "".join(
        random.choice(MARKUP) if random.random() < 0.6 else _escaped(text(random), random) for _ in range(6)
    )
    written = f"<speak>{inside}</speak>" if random.random() < 0.9 else inside
    if random.random() < 0.5:
        start, end = sorted(random.randrange(len(written) + 1) for _ in range(2))
        new = random.choice(("", random.choice(MARKUP), random.choice(UNITS), written[start:end]))
        written = written[:start] + new + written[random.choice((start, end)) :]
    return written


def _escaped(written: str, random: Random) -> str:
    return written if random.random() < 0.1 else written.replace("&", "&amp;").replace("<", "&lt;")


def _piece(random: Random) -> str:
    kind = random.random()
    if kind < 0.35:
        return random.choice(WORDS)
    if kind < 0.55:
        return random.choice(UNITS) * random.choice((1, 1, 2, 3, 9))
    if kind < 0.75:
        return _letters(random, random.choice((1, 2, 5, 9)))
    if kind < 0.9:
        return "".join(random.choices("0123456789" * 3 + ".,:/-–+ $€£%°'\"xkmgths½", k=random.randint(1, 9)))
    if kind < 0.99:
        return "".join(random.choice((random.choice(WORDS), random.choice(UNITS))) for _ in range(3))
    return _letters(random, 1) * random.choice((70, 300, 3_500))


def _letters(random: Random, count: int) -> str:
    first, end = random.choice(_SCRIPTS)
    return "".join(chr(random.randrange(first, end)) for _ in range(count))


def shapes(count: int) -> list[str]:
    """Returns the worst, all units that are UTF-8, and some of them together."""
    random = Random(1)
    # C's text is UTF-8, which has no surrogates.
    units = [unit for unit in (*WORST, *UNITS) if not any("\ud800" <= letter <= "\udfff" for letter in unit)]
    found = dict.fromkeys(units)
    while len(found) < count:
        found["".join(random.choices(units, k=random.choice((2, 2, 3, 4))))] = None
    return [*found][:count]
