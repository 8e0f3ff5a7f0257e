"""Numbers, dates, money, units and signs in Chinese text, as they are read.

>>> FORMS.find("2025年10月1日", 0, 10)
(5, '二零二五年')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .segmented_forms import SegmentedForms

DIGITS = "零一二三四五六七八九"
_PHONE_DIGITS = "零幺二三四五六七八九"
_SCALES = ((10**8, "亿"), (10**4, "万"), (1_000, "千"), (100, "百"), (10, "十"))
_MOST_DIGITS = 16
CURRENCIES = {
    "¥": "元", "￥": "元", "$": "美元", "US$": "美元", "HK$": "港元", "NT$": "新台币", "€": "欧元",
    "£": "英镑", "₩": "韩元", "₹": "卢比", "₽": "卢布", "฿": "泰铢", "CNY": "元", "RMB": "元",
    "USD": "美元", "HKD": "港元", "EUR": "欧元", "GBP": "英镑", "JPY": "日元",
}  # fmt: skip
UNITS = {
    "km": "公里", "m": "米", "dm": "分米", "cm": "厘米", "mm": "毫米", "μm": "微米", "µm": "微米",
    "nm": "纳米", "kg": "公斤", "g": "克", "mg": "毫克", "μg": "微克", "µg": "微克", "L": "升",
    "l": "升", "mL": "毫升", "ml": "毫升", "m²": "平方米", "㎡": "平方米", "m2": "平方米",
    "km²": "平方公里", "km2": "平方公里", "cm²": "平方厘米", "cm2": "平方厘米", "m³": "立方米",
    "m3": "立方米", "cm³": "立方厘米", "cm3": "立方厘米", "km/h": "公里每小时", "m/s": "米每秒",
    "m/s²": "米每二次方秒", "mg/L": "毫克每升", "g/L": "克每升", "kg/m³": "千克每立方米", "℃": "摄氏度",
    "°C": "摄氏度", "℉": "华氏度", "°F": "华氏度", "°": "度", "W": "瓦", "kW": "千瓦", "MW": "兆瓦",
    "kWh": "千瓦时", "V": "伏", "kV": "千伏", "mAh": "毫安时", "Hz": "赫兹", "kHz": "千赫", "MHz": "兆赫",
    "GHz": "吉赫", "dB": "分贝", "h": "小时", "min": "分钟", "s": "秒", "ms": "毫秒", "ha": "公顷",
    "mol": "摩尔", "Pa": "帕", "kPa": "千帕", "MPa": "兆帕", "mmHg": "毫米汞柱", "kcal": "千卡", "cal": "卡",
    "kJ": "千焦", "rpm": "转每分", "kg/m3": "千克每立方米", "㎏": "公斤", "㎞": "公里", "㎝": "厘米",
    "㎜": "毫米", "㎎": "毫克",
}  # fmt: skip
SIGNS = {
    "½": "二分之一", "⅓": "三分之一", "⅔": "三分之二", "¼": "四分之一", "¾": "四分之三", "⅛": "八分之一",
    "Ⅰ": "一", "Ⅱ": "二", "Ⅲ": "三", "Ⅳ": "四", "Ⅴ": "五", "Ⅵ": "六", "Ⅶ": "七", "Ⅷ": "八", "Ⅸ": "九",
    "Ⅹ": "十", "Ⅺ": "十一", "Ⅻ": "十二", "①": "一", "②": "二", "③": "三", "④": "四", "⑤": "五", "⑥": "六",
    "⑦": "七", "⑧": "八", "⑨": "九", "⑩": "十", "=": "等于", "≈": "约等于", "≠": "不等于", "≥": "大于等于",
    "≤": "小于等于", "×": "乘", "÷": "除以", "±": "正负", "+": "加", "%": "百分号", "‰": "千分号",
    "℃": "摄氏度", "℉": "华氏度", "°": "度", "〇": "零", "#": "井号", "@": "艾特", "&": "和",
}  # fmt: skip
"""Signs that stand alone."""
_NUMBER = r"((?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?)"
_UNIT = f"({'|'.join(sorted(map(re.escape, UNITS), key=lambda unit: (-len(unit), unit)))})(?![A-Za-z0-9²³/])"
_SYMBOL = r"((?:US|HK|NT)\$|[¥￥$€£₩₹₽฿])"
_CODE = "(CNY|RMB|USD|HKD|EUR|GBP|JPY)"
_SCALE = "([十百千]?万亿?|[千百十]?亿|[千百]|)"
_TO = r"\s?(?:[-–—~～〜]|--)\s?"
_HOUR, _MINUTE = "([01]?[0-9]|2[0-4])", "([0-5][0-9])"
_END = r"(?![0-9]|[.:：][0-9])"
_COUNTED = (
    r"\s?(?:个|只|条|张|本|位|次|天|年(?!级)|周|岁|小时|分钟|秒|块|公里|公斤|斤|吨|米|倍|件|种|家|名|人|部|台|辆|"
    "座|栋|间|杯|瓶|碗|盒|箱|包|套|双|对|组|遍|趟|口|头|匹|篇|首|句|段|枚|颗|棵|架|艘|封|份|克|升|厘米|毫米|千|万|"
    "亿|元|美元|平方)"
)
"""Nouns and measures before which two is 两."""
_FORMS = [
    (re.compile(pattern), spoken)
    for pattern, spoken in (
        # Telephone numbers.
        (r"((?:\+?86[- ]?)?1[3-9][0-9][- ]?[0-9]{4}[- ]?[0-9]{4}(?![0-9]))", "{p1}"),
        (r"(0[0-9]{2,3}[- ][0-9]{7,8}(?:-[0-9]{1,6})?(?![0-9]))", "{p1}"),
        (r"([48]00-[0-9]{3}-[0-9]{4}(?![0-9])|[48]00-[0-9]{4}-[0-9]{3}(?![0-9]))", "{p1}"),
        (r"(\+[0-9](?:[- ]?[0-9]){6,16}(?![0-9]))", "加{p1}"),
        (r"(?:(?<=电话|热线|拨打|致电)|(?<=(?:电话|热线)[:：]))([0-9]{3,12})(?![0-9.])", "{p1}"),
        # Dates.
        (r"([12][0-9]{3})([-/.])0?(1[0-2]|[1-9])\2(?:0(?!0))?([12][0-9]|3[01]|[1-9])(?![0-9]|[-/.][0-9])日?",
         "{d1}年{n3}月{n4}日"),
        (rf"([12][0-9]{{3}})年?{_TO}([12][0-9]{{3}})年", "{d1}年到{d2}年"),
        (r"([1-9]000)年(?=前|来|历史|间|多)", "{q1}年"),
        (r"([12][0-9]{3})年", "{d1}年"),
        (r"([0-9]{2})年(?=[0-9]{1,2}月)", "{d1}年"),
        (r"0([1-9])(?=[月日号])", "{n1}"),
        # Times.
        (rf"{_HOUR}[:：]{_MINUTE}{_TO}{_HOUR}[:：]{_MINUTE}{_END}", "{h1}点{m2}到{h3}点{m4}"),
        (rf"{_HOUR}[:：]{_MINUTE}[:：]{_MINUTE}{_END}", "{h1}点{m2}{n3}秒"),
        (rf"{_HOUR}[:：]{_MINUTE}{_END}", "{h1}点{m2}"),
        (r"2(?=点(?![0-9]))", "两"),
        (rf"{_NUMBER}[:：]{_NUMBER}(?![0-9:：])", "{n1}比{n2}"),
        # Shares.
        (rf"(?<![A-Za-z0-9])[-−]{_NUMBER}\s?[%％]", "负百分之{n1}"),
        (rf"{_NUMBER}\s?[%％]?{_TO}{_NUMBER}\s?[%％]", "百分之{n1}到百分之{n2}"),
        (rf"{_NUMBER}\s?[%％]", "百分之{n1}"),
        (rf"{_NUMBER}\s?‰", "千分之{n1}"),
        (r"([0-9]{1,4})/([0-9]{1,4})(?![0-9/.])", "{n2}分之{n1}"),
        # Money.
        (rf"{_SYMBOL}\s?{_NUMBER}{_TO}{_SYMBOL}?{_NUMBER}\s?{_SCALE}", "{n2}到{n4}{t5}{c1}"),
        (rf"[-−]{_SYMBOL}\s?{_NUMBER}\s?{_SCALE}", "负{q2}{t3}{c1}"),
        (rf"{_SYMBOL}\s?{_NUMBER}\s?{_SCALE}", "{q2}{t3}{c1}"),
        (rf"(?<![A-Za-z]){_CODE}\s?{_NUMBER}\s?{_SCALE}", "{q2}{t3}{c1}"),
        (rf"{_NUMBER}\s?{_SCALE}\s?{_CODE}(?![A-Za-z])", "{q1}{t2}{c3}"),
        # Measures.
        (rf"(?<![A-Za-z0-9])[-−]{_NUMBER}\s?(?:°C|℃)", "零下{n1}摄氏度"),
        (rf"(?<![A-Za-z0-9])[-−]{_NUMBER}{_TO}{_NUMBER}\s?{_UNIT}", "负{n1}到{n2}{u3}"),
        (rf"{_NUMBER}{_TO}{_NUMBER}\s?{_UNIT}", "{q1}到{q2}{u3}"),
        (rf"(?<![A-Za-z0-9])[-−]{_NUMBER}\s?{_UNIT}", "负{n1}{u2}"),
        (rf"{_NUMBER}\s?{_UNIT}", "{q1}{u2}"),
        # Versions and addresses, products, ranges.
        (r"([0-9]{1,9}(?:\.[0-9]{1,9}){2,})", "{x1}"),
        (rf"{_NUMBER}\s?[×xX*]\s?{_NUMBER}", "{n1}乘{n2}"),
        (rf"{_NUMBER}[~～〜]{_NUMBER}(?={_COUNTED})", "{q1}到{q2}"),
        (rf"{_NUMBER}\s?[~～〜]\s?{_NUMBER}", "{n1}到{n2}"),
        (rf"(?<![-A-Za-z0-9]){_NUMBER}{_TO}{_NUMBER}(?={_COUNTED})", "{q1}到{q2}"),
        (rf"(?<![-A-Za-z0-9]){_NUMBER}{_TO}{_NUMBER}(?!-?[0-9A-Za-z])", "{n1}到{n2}"),
        # Models: C919, GPT-4.
        (r"(?<=[A-Za-z])-([0-9]+\.[0-9]+)", "{n1}"),
        (r"(?<=[A-Z] )([0-9]{4})(?![.,%]?[0-9])", "{r1}"),
        (r"(?<=[A-Za-z])-?([0-9]+)(?![.%][0-9]|[0-9])", "{r1}"),
        (r"([0-9]{3,4})(?=路|医院|国道|航班|次列车|室|房间)", "{d1}"),
        # Signed and other numbers.
        (rf"(?<![A-Za-z0-9)）])[-−]\s?{_NUMBER}", "负{n1}"),
        (rf"<\s?{_NUMBER}", "小于{n1}"),
        (rf">\s?{_NUMBER}", "大于{n1}"),
        (rf"(?<!第)2(?={_COUNTED})", "两"),
        (_NUMBER, "{n1}"),
    )
]  # fmt: skip
_BEGINNINGS = "0123456789-−+<>¥￥$€£₩₹₽฿CRUHNEGJ"


def number(written: str) -> str:
    """Returns a number in digits as it is read; one that is too long or begins with zeros, digit by digit."""
    whole, point, decimals = written.replace(",", "").partition(".")
    apart = len(whole) > _MOST_DIGITS or (len(whole) > 1 and whole[0] == "0")
    # A number of an account, not an amount.
    apart = apart or (len(whole) > 9 and written == whole and not whole.endswith("000"))
    said = _one_by_one(whole) if apart else _cardinal(int(whole))
    return f"{said}点{_one_by_one(decimals)}" if point else said


def _cardinal(value: int) -> str:
    said = _counted(value)
    if said.startswith("一十"):
        return said[1:]
    return f"两{said[1:]}" if said[0] == "二" and said[1:2] in tuple("千万亿") else said


def _counted(value: int) -> str:
    for size, scale in _SCALES:
        if value >= size:
            high, low = divmod(value, size)
            zero = "零" if 0 < low < size // 10 else ""
            return f"{_counted(high)}{scale}{zero}{_counted(low) if low else ''}"
    return DIGITS[value]


def _one_by_one(digits: str, names: str = DIGITS) -> str:
    return "".join(names[int(digit)] for digit in digits if digit in "0123456789")


def _minute(written: str) -> str:
    if written == "00":
        return ""
    return f"零{number(written[1])}分" if written[0] == "0" else f"{number(written)}分"


def _model(written: str) -> str:
    """Returns the number of a model: 15 is a number, 919 and 4090 are digits, 100 is a number."""
    return number(written) if len(written) < 3 or written.endswith("00") else _one_by_one(written)


_SAID: Mapping[str, Callable[[str], str]] = {
    "c": CURRENCIES.__getitem__,
    "d": _one_by_one,
    "h": lambda written: "两" if written.lstrip("0") == "2" else _cardinal(int(written)),
    "m": _minute,
    "n": number,
    "p": lambda written: _one_by_one(written, _PHONE_DIGITS),
    "q": lambda written: "两" if written == "2" else number(written),
    "r": _model,
    "t": str,
    "u": UNITS.__getitem__,
    "x": lambda written: "点".join(map(_model, written.split("."))),
}
"""How a part of a written form is said."""
FORMS = SegmentedForms(_FORMS, _BEGINNINGS, SIGNS, _SAID)
"""What is said for written forms, in Chinese characters."""
