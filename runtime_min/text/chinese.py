"""Chinese text to words with phonemes: words as jieba divides them, readings as pypinyin has them."""

from __future__ import annotations

from .chinese_forms import FORMS
from .segmented import MARKS as _COMMON
from .segmented import Segmented, Writing, piece_of

PLAIN = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if chr(code) not in "！（），：；？"}
"""Characters of full width that are read as their usual forms."""
_MARKS = _COMMON | dict.fromkeys("·•~～〜", "")
_PIECE = piece_of("\u4e00-\u9fff", "com|cn|org|net|edu|gov|io|ai|app|dev", _MARKS, FORMS)


class Chinese(Segmented):
    """A G2P for Chinese, for ``g2p=``."""

    writing = Writing(PLAIN, _MARKS, _PIECE, FORMS, glued="第")
