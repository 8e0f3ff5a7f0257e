"""Numbers, counters, dates, money, units and signs in Japanese text, in the kana of their reading.

>>> FORMS.find("3本", 0, 2)
(2, 'サンボン')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .segmented_forms import SegmentedForms

_DIGITS = tuple("ゼロ イチ ニ サン ヨン ゴ ロク ナナ ハチ キュー".split())
_APART = tuple("ゼロ イチ ニー サン ヨン ゴー ロク ナナ ハチ キュー".split())
"""Digits that are read one by one."""
_SCALES = [("n", ""), ("n", "マン"), ("n", "オク"), ("s", "チョー"), ("k", "ケー"), ("n", "ガイ")]
"""Powers of 10,000: a kind of `_KINDS` and the reading."""
_PLACES = 4
_POWERS = {"百": "00", "千": "000", "万": "0000", "億": "00000000", "兆": "000000000000"}
_NAMES = {"百": "ヒャク", "千": "セン", "万": "マン", "億": "オク", "兆": "チョー"}
_THOUSANDS = ("", *"セン ニセン サンゼン ヨンセン ゴセン ロクセン ナナセン ハッセン キューセン".split())
_HUNDREDS = (
    "",
    *"ヒャク ニヒャク サンビャク ヨンヒャク ゴヒャク ロッピャク ナナヒャク ハッピャク キューヒャク".split(),
)
_TENS = (
    "",
    *"ジュー ニジュー サンジュー ヨンジュー ゴジュー ロクジュー ナナジュー ハチジュー キュージュー".split(),
)
_MOST_DIGITS = 16
"""Digits of an amount; others are those of an account."""
_GEMINATE = {"イチ": "イッ", "ロク": "ロッ", "ハチ": "ハッ", "ジュー": "ジュッ", "ャク": "ャッ"}
"""Ends of numbers, and what they are before some counters."""
_KINDS = {
    "k": ("イチ ロク ハチ ジュー ャク", "", ""),
    "g": ("イチ ロク ハチ ジュー ャク", "", "サン"),
    "s": ("イチ ハチ ジュー", "", ""),
    "z": ("イチ ハチ ジュー", "", "サン"),
    "h": ("イチ ロク ハチ ジュー ャク", "イチ ロク ハチ ジュー ャク", "サン セン マン"),
    "p": ("イチ ロク ハチ ジュー ャク", "イチ ロク ハチ ジュー ャク サン ヨン セン マン", ""),
    "r": ("ロク ジュー ャク", "", ""),
}
"""Kinds of counters: ends of numbers that are geminated before them, those after which their first sound is
that of パ, and those after which it is that of バ or ガ."""
_VOICED = {"カ": "ガ", "ケ": "ゲ", "ソ": "ゾ", "ハ": "バ", "ヒ": "ビ", "フ": "ブ", "ヘ": "ベ", "ホ": "ボ"}
_HALF_VOICED = {"ハ": "パ", "ヒ": "ピ", "フ": "プ", "ヘ": "ペ", "ホ": "ポ"}
COUNTERS = {
    # A kind of `_KINDS`, or changes of the number's last digit; then the reading.
    "個": "k コ", "コ": "k コ", "ヶ": "k コ", "ケ": "k コ", "回": "k カイ", "回目": "k カイメ",
    "件": "k ケン", "曲": "k キョク", "巻": "k カン", "機": "k キ", "基": "k キ", "期": "k キ",
    "級": "k キュー", "局": "k キョク", "区": "k ク", "校": "k コー", "球": "k キュー", "缶": "k カン",
    "脚": "k キャク", "行": "n ギョー", "か月": "k カゲツ", "カ月": "k カゲツ", "ヶ月": "k カゲツ",
    "ケ月": "k カゲツ", "ヵ月": "k カゲツ", "箇月": "k カゲツ", "か国": "k カコク", "カ国": "k カコク",
    "ヶ国": "k カコク", "か所": "k カショ", "カ所": "k カショ", "ヶ所": "k カショ", "箇所": "k カショ",
    "階": "g カイ", "階建て": "g カイダテ", "軒": "g ケン", "歳": "s サイ", "才": "s サイ",
    "冊": "s サツ", "週": "s シュー", "週間": "s シューカン", "種類": "s シュルイ", "周": "s シュー",
    "周年": "s シューネン", "社": "s シャ", "色": "s ショク", "章": "s ショー", "世紀": "s セーキ",
    "世帯": "s セタイ", "席": "s セキ", "隻": "s セキ", "センチ": "s センチ", "セット": "s セット",
    "足": "z ソク", "頭": "s トー", "着": "s チャク", "点": "s テン", "丁目": "s チョーメ",
    "体": "s タイ", "通": "s ツー", "店": "s テン", "トン": "s トン", "対": "s ツイ", "等": "s トー",
    "本": "h ホン", "匹": "h ヒキ", "杯": "h ハイ", "票": "h ヒョー", "分": "p フン",
    "分間": "p フンカン", "泊": "p ハク", "発": "p ハツ", "歩": "p ホ", "版": "p ハン", "敗": "p ハイ",
    "編": "p ヘン", "パーセント": "s パーセント", "ポイント": "s ポイント", "ページ": "s ページ",
    "頁": "s ページ", "キロ": "r キロ", "円": "ヨン=ヨ エン", "年": "ヨン=ヨ ネン",
    "年間": "ヨン=ヨ ネンカン", "年生": "ヨン=ヨ ネンセー", "年代": "n ネンダイ",
    "年前": "ヨン=ヨ ネンマエ", "年後": "ヨン=ヨ ネンゴ", "年目": "ヨン=ヨ ネンメ",
    "年度": "ヨン=ヨ ネンド", "人": "ヨン=ヨ ニン", "人目": "ヨン=ヨ ニンメ",
    "時": "ヨン=ヨ,ナナ=シチ,キュー=ク ジ", "時間": "ヨン=ヨ,ナナ=シチ,キュー=ク ジカン",
    "月": "ヨン=シ,ナナ=シチ,キュー=ク ガツ", "名": "n メー", "名様": "n メーサマ", "番": "n バン",
    "番目": "n バンメ", "号": "n ゴー", "号室": "n ゴーシツ", "号車": "n ゴーシャ", "度": "n ド",
    "台": "n ダイ", "枚": "n マイ", "倍": "n バイ", "秒": "n ビョー", "秒間": "n ビョーカン",
    "代": "n ダイ", "位": "n イ", "面": "n メン", "問": "n モン", "列": "n レツ", "両": "n リョー",
    "次": "n ジ", "字": "n ジ", "世": "n セー", "部": "n ブ", "話": "n ワ", "羽": "n ワ",
    "畳": "n ジョー", "学年": "n ガクネン", "試合": "n シアイ", "番線": "n バンセン", "ドル": "n ドル",
    "ユーロ": "n ユーロ", "メートル": "n メートル", "グラム": "n グラム", "リットル": "n リットル",
    "ミリ": "n ミリ", "割": "n ワリ", "連覇": "n レンパ", "日間": "ナナ=シチ,キュー=ク ニチカン",
    "日": "ナナ=シチ,キュー=ク ニチ",
}  # fmt: skip
_WHOLE = {
    "1人": "ヒトリ", "2人": "フタリ", "20歳": "ハタチ", "20才": "ハタチ", "1つ": "ヒトツ",
    "2つ": "フタツ", "3つ": "ミッツ", "4つ": "ヨッツ", "5つ": "イツツ", "6つ": "ムッツ", "7つ": "ナナツ",
    "8つ": "ヤッツ", "9つ": "ココノツ", "2日": "フツカ", "3日": "ミッカ", "4日": "ヨッカ",
    "5日": "イツカ", "6日": "ムイカ", "7日": "ナノカ", "8日": "ヨーカ", "9日": "ココノカ",
    "10日": "トーカ", "14日": "ジューヨッカ", "20日": "ハツカ", "24日": "ニジューヨッカ",
}  # fmt: skip
"""Counted things that have words of their own."""
CURRENCIES = {
    "¥": "エン", "￥": "エン", "$": "ドル", "US$": "ドル", "€": "ユーロ", "£": "ポンド", "₩": "ウォン",
    "₹": "ルピー", "฿": "バーツ", "JPY": "エン", "USD": "ドル", "EUR": "ユーロ", "GBP": "ポンド",
    "CNY": "ゲン",
}  # fmt: skip
UNITS = {
    "km": "キロメートル", "m": "メートル", "cm": "センチメートル", "mm": "ミリメートル",
    "μm": "マイクロメートル", "nm": "ナノメートル", "kg": "キログラム", "g": "グラム", "mg": "ミリグラム",
    "t": "トン", "L": "リットル", "l": "リットル", "mL": "ミリリットル", "ml": "ミリリットル",
    "m²": "ヘーホーメートル", "m2": "ヘーホーメートル", "㎡": "ヘーホーメートル",
    "km²": "ヘーホーキロメートル", "km2": "ヘーホーキロメートル", "㎢": "ヘーホーキロメートル",
    "cm²": "ヘーホーセンチメートル", "m³": "リッポーメートル", "m3": "リッポーメートル",
    "㎥": "リッポーメートル", "cm³": "リッポーセンチメートル", "km/h": "キロメートル マイジ",
    "m/s": "メートル マイビョー", "℃": "ド", "°C": "ド", "℉": "カシド", "°F": "カシド", "°": "ド",
    "W": "ワット", "kW": "キロワット", "MW": "メガワット", "kWh": "キロワットジ", "V": "ボルト",
    "mAh": "ミリアンペアジ", "Hz": "ヘルツ", "kHz": "キロヘルツ", "MHz": "メガヘルツ",
    "GHz": "ギガヘルツ", "dB": "デシベル", "h": "ジカン", "min": "フン", "s": "ビョー",
    "ms": "ミリビョー", "ha": "ヘクタール", "Pa": "パスカル", "hPa": "ヘクトパスカル",
    "MPa": "メガパスカル", "kcal": "キロカロリー", "cal": "カロリー", "KB": "キロバイト",
    "kB": "キロバイト", "MB": "メガバイト", "GB": "ギガバイト", "TB": "テラバイト",
    "Mbps": "メガビーピーエス", "Gbps": "ギガビーピーエス", "ppm": "ピーピーエム",
    "rpm": "アールピーエム", "%": "パーセント", "‰": "パーミル", "㎏": "キログラム", "㎞": "キロメートル",
    "㎝": "センチメートル", "㎜": "ミリメートル", "㎎": "ミリグラム", "㌔": "キロ", "㌫": "パーセント",
    "㌘": "グラム", "㍍": "メートル", "㌢": "センチ", "㍉": "ミリ", "㌦": "ドル", "㌧": "トン",
    "㍑": "リットル", "㌶": "ヘクタール",
}  # fmt: skip
_UNIT_KINDS = dict.fromkeys("パポセテトタ", "s") | {"キ": "r", "フ": "p"}
"""Kinds of `_KINDS` by the first kana of a unit."""
SIGNS = {
    "½": "ニブンノイチ", "⅓": "サンブンノイチ", "⅔": "サンブンノニ", "¼": "ヨンブンノイチ",
    "¾": "ヨンブンノサン", "①": "イチ", "②": "ニ", "③": "サン", "④": "ヨン", "⑤": "ゴ", "⑥": "ロク",
    "⑦": "ナナ", "⑧": "ハチ", "⑨": "キュー", "⑩": "ジュー", "Ⅰ": "イチ", "Ⅱ": "ニ", "Ⅲ": "サン",
    "Ⅳ": "ヨン", "Ⅴ": "ゴ", "Ⅵ": "ロク", "Ⅶ": "ナナ", "Ⅷ": "ハチ", "Ⅸ": "キュー", "Ⅹ": "ジュー",
    "=": "イコール", "≒": "ニアリーイコール", "≠": "ノットイコール", "≥": "イジョー", "≤": "イカ",
    "×": "カケル", "÷": "ワル", "±": "プラス マイナス", "+": "プラス", "%": "パーセント", "‰": "パーミル",
    "℃": "ド", "°": "ド", "#": "シャープ", "@": "アット", "&": "アンド", "〇": "マル",
    "〒": "ユービン バンゴー", "㈱": "カブシキガイシャ", "㍿": "カブシキガイシャ", "㍻": "ヘーセー",
    "㍼": "ショーワ", "㋿": "レーワ", "㌔": "キロ", "㌫": "パーセント",
}  # fmt: skip
"""Signs that stand alone."""
_WHOLE_NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?![0-9])"
_PLAIN_NUMBER = rf"{_WHOLE_NUMBER}(?:\.[0-9]+(?![0-9]))?"
_SCALED = rf"(?:{_WHOLE_NUMBER}[千百]?[万億兆]){{0,2}}(?:(?<=[万億兆]){_WHOLE_NUMBER})?"
_NUMBER = rf"{_PLAIN_NUMBER}(?:[千百]?[万億兆]|[千百])?{_SCALED}"


def _any(words: Mapping[str, object]) -> str:
    return "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word)))


_COUNTED = rf"{_NUMBER}\s?(?:{_any(COUNTERS | {'つ': ''})})"
_MEASURED = rf"({_NUMBER}\s?(?:{_any(UNITS)})(?![A-Za-z0-9²³/]))"
_SYMBOL, _CODE = r"((?:US)?\$|[¥￥€£₩₹฿])", "(JPY|USD|EUR|GBP|CNY)"
_TO = r"\s?(?:[-–—~～〜]|--)\s?"
_HOUR, _MINUTE, _END = "([01]?[0-9]|2[0-4])", "([0-5][0-9])", r"(?![0-9]|[.:：][0-9])"
_MONTH, _DAY = "(1[0-2]|0?[1-9])", "([12][0-9]|3[01]|0?[1-9])"
_FORMS = [
    (re.compile(pattern), spoken)
    for pattern, spoken in (
        # Telephone numbers and postal codes.
        (r"((?:0[0-9]{1,4}-[0-9]{1,4}-[0-9]{3,4}|〒\s?[0-9]{3}-[0-9]{4})(?![-0-9]))", "{p1}"),
        (r"(0[0-9]{9,10})(?![-0-9.,])", "{p1}"),
        # Dates.
        (rf"([12][0-9]{{3}})([-/.]){_MONTH}\2{_DAY}(?![0-9]|[-/.][0-9])日?", "{y1} {g3} {d4}"),
        (rf"{_MONTH}/{_DAY}(?=\s?[(（][月火水木金土日])", "{g1} {d2}"),
        (rf"{_MONTH}月{_DAY}日", "{g1} {d2}"),
        (rf"(?<=月){_DAY}日(?!間)", "{d1}"),
        (rf"{_MONTH}月(?![0-9]*[間分])", "{g1}"),
        # Times.
        (rf"{_HOUR}[:：]{_MINUTE}{_TO}{_HOUR}[:：]{_MINUTE}{_END}", "{h1} {m2} カラ {h3} {m4}"),
        (rf"{_HOUR}[:：]{_MINUTE}[:：]{_MINUTE}{_END}", "{h1} {m2} {s3}"),
        (rf"{_HOUR}[:：]{_MINUTE}{_END}", "{h1} {m2}"),
        # Money.
        (rf"[-−]{_SYMBOL}\s?({_NUMBER})", "マイナス {n2}{c1}"),
        (rf"{_SYMBOL}\s?({_NUMBER}){_TO}{_SYMBOL}?({_NUMBER})", "{n2} カラ {n4}{c1}"),
        (rf"{_SYMBOL}\s?({_NUMBER})", "{n2}{c1}"),
        (rf"(?<![A-Za-z]){_CODE}\s?({_NUMBER})", "{n2}{c1}"),
        (rf"({_NUMBER})\s?{_CODE}(?![A-Za-z])", "{n1}{c2}"),
        # Measures and shares.
        (rf"(?<![A-Za-z0-9])[-−]{_MEASURED}", "マイナス {u1}"),
        (rf"({_NUMBER})\s?%?{_TO}{_MEASURED}", "{n1} カラ {u2}"),
        (_MEASURED, "{u1}"),
        (rf"({_NUMBER})分の({_NUMBER})", "{n1}ブンノ {n2}"),
        (r"([0-9]{1,4})/([0-9]{1,4})(?![0-9/.])", "{n2}ブンノ {n1}"),
        # Versions, scores, ranges.
        (r"([0-9]{1,9}(?:\.[0-9]{1,9}){2,})", "{x1}"),
        (rf"({_NUMBER})[:：]({_NUMBER})(?![0-9:：])", "{n1} タイ {n2}"),
        (rf"({_NUMBER})\s?[×xX*]\s?({_NUMBER})", "{n1} カケル {n2}"),
        (rf"({_NUMBER})\s?[~～〜]\s?({_COUNTED})", "{n1} カラ {k2}"),
        (rf"({_COUNTED})\s?[~～〜](?=\s?[0-9])", "{k1} カラ"),
        (rf"({_NUMBER})\s?[~～〜]\s?({_NUMBER})", "{n1} カラ {n2}"),
        (r"(?<![-A-Za-z0-9])([0-9]{1,3})-([0-9]{1,3})(?!-?[0-9A-Za-z])", "{n1} タイ {n2}"),
        # Models: GPT-4.
        (r"(?<=[A-Za-z])-?([0-9]+(?:\.[0-9]+)?)(?![.%][0-9]|[0-9])", "{n1}"),
        # Counted things, signed and other numbers.
        (rf"({_COUNTED})", "{k1}"),
        (rf"(?<![A-Za-z0-9)）])[-−]\s?({_NUMBER})", "マイナス {n1}"),
        (rf"({_NUMBER})", "{n1}"),
    )
]  # fmt: skip
_BEGINNINGS = "0123456789-−〒¥￥$€£₩₹฿UJEGC"


_PART = re.compile(r"([0-9,]+(?:\.[0-9]+)?)([千百]?[万億兆]|[千百]|)")
_COUNT = re.compile(rf"({_NUMBER})\s?(.*)")


def number(written: str) -> str:
    """Returns a number as it is read, in words for each of its powers of 10,000."""
    return " ".join([_amount(*part) for part in _PART.findall(written)])


def _amount(digits: str, scale: str) -> str:
    whole, point, decimals = digits.replace(",", "").partition(".")
    full = whole + "".join([_POWERS[sign] for sign in scale])
    is_amount = whole[:1] != "0" or len(whole) == 1
    if is_amount and len(whole) <= _MOST_DIGITS and len(full) <= _PLACES * len(_SCALES) and not point:
        return _cardinal(full)
    if not is_amount or len(whole) > _MOST_DIGITS:
        said = _one_by_one(whole)
    else:
        said = "レー" if whole == "0" else _cardinal(whole)
    said += f"テン{_one_by_one(decimals)}" if point else ""
    return said + "".join([_NAMES[sign] for sign in scale])


def _cardinal(digits: str) -> str:
    if digits.strip("0") == "":
        return _DIGITS[0]
    digits = digits.zfill(_PLACES * len(_SCALES))
    parts: list[str] = []
    for start, (kind, scale) in zip(range(0, len(digits), _PLACES), reversed(_SCALES), strict=True):
        thousands, hundreds, tens, ones = map(int, digits[start : start + _PLACES])
        said = "イッセン" if thousands == 1 and scale else _THOUSANDS[thousands]
        said += _HUNDREDS[hundreds] + _TENS[tens] + (_DIGITS[ones] if ones else "")
        if said:
            parts.append(_joined(said, kind, scale) if scale else said)
    return " ".join(parts)


def _joined(said: str, kind: str, reading: str) -> str:
    """Returns a number and what it counts, with the changes of sounds between them."""
    if kind not in _KINDS:
        changed = (pair.split("=") for pair in kind.split(",") if "=" in pair)
        end, other = next(((end, other) for end, other in changed if said.endswith(end)), ("", ""))
        return said[: len(said) - len(end)] + other + reading
    geminated, half_voiced, voiced = (tuple(ends.split(" ")) if ends else () for ends in _KINDS[kind])
    first = reading[0]
    if said.endswith(half_voiced):
        first = _HALF_VOICED[first]
    elif said.endswith(voiced):
        first = _VOICED[first]
    if said.endswith(geminated):
        said = next(said[: -len(end)] + _GEMINATE[end] for end in geminated if said.endswith(end))
    return said + first + reading[1:]


def _counted(written: str) -> str:
    found = _COUNT.fullmatch(written)
    assert found is not None
    amount, counter = found[1], found[2]
    if whole := _WHOLE.get(amount.lstrip("0") + counter):
        return whole
    return (
        _joined(number(amount), *COUNTERS[counter].split(" ", 1)) if counter in COUNTERS else number(amount)
    )


def _measured(written: str) -> str:
    found = _COUNT.fullmatch(written)
    assert found is not None
    reading = UNITS[found[2]]
    return _joined(number(found[1]), _UNIT_KINDS.get(reading[0], "n"), reading)


def _of(counter: str) -> Callable[[str], str]:
    return lambda written: _counted((written.lstrip("0") or "0") + counter)


def _one_by_one(digits: str) -> str:
    return "".join(_APART[int(digit)] for digit in digits if digit in "0123456789")


def _telephone(written: str) -> str:
    prefix = "ユービン バンゴー " if written[0] == "〒" else ""
    return prefix + "ノ ".join(map(_one_by_one, written.split("-")))


_SAID: Mapping[str, Callable[[str], str]] = {
    "c": CURRENCIES.__getitem__,
    "d": lambda written: "ツイタチ" if written.lstrip("0") == "1" else _of("日")(written),
    "g": _of("月"),
    "h": _of("時"),
    "k": _counted,
    "m": lambda written: "" if written == "00" else _of("分")(written),
    "n": number,
    "p": _telephone,
    "s": _of("秒"),
    "u": _measured,
    "x": lambda written: "テン".join(map(number, written.split("."))),
    "y": _of("年"),
}
"""How a part of a written form is said."""
FORMS = SegmentedForms(_FORMS, _BEGINNINGS, SIGNS, _SAID)
"""What is said for written forms, in kana; spaces are between words."""
