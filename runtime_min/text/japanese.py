"""Japanese text to words with phonemes: words and readings of UniDic, joined as misaki joins them."""

from __future__ import annotations

from .japanese_forms import FORMS
from .segmented import MARKS as _COMMON
from .segmented import Segmented, Writing, piece_of

_HALF = (
    "ｦヲｧァｨィｩゥｪェｫォｬャｭュｮョｯッｰーｱアｲイｳウｴエｵオｶカｷキｸクｹケｺコｻサｼシｽスｾセｿソﾀタﾁチﾂツﾃテﾄトﾅナﾆニﾇヌﾈネﾉノ"
    "ﾊハﾋヒﾌフﾍヘﾎホﾏマﾐミﾑムﾒメﾓモﾔヤﾕユﾖヨﾗラﾘリﾙルﾚレﾛロﾜワﾝン｢「｣」"
)
"""Characters of half width, each before its usual form."""
PLAIN = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if chr(code) not in "！（），：；？～"}
PLAIN |= {ord(half): ord(usual) for half, usual in zip(_HALF[::2], _HALF[1::2], strict=True)}
"""Characters that are read as others."""
_MARKS = _COMMON | dict.fromkeys("~～〜•★☆●○◎◆◇■□▲△▼▽※→←↑↓♪〔〕", "") | {"〔": "(", "〕": ")"}
_PIECE = piece_of(
    "ぁ-ゖ゛゜ァ-ヺーゝゞヽヾ々〆一-鿿ﾞﾟ\u3099\u309a", "com|jp|org|net|edu|gov|io|ai|app|dev", _MARKS, FORMS
)

_STAND_INS = "0A、。「」『』（）！？・…"


class Japanese(Segmented):
    """A G2P for Japanese, for ``g2p=``."""

    writing = Writing(PLAIN, _MARKS, _PIECE, FORMS, stand_ins=_STAND_INS)
