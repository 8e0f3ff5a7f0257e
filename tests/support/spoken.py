"""Text with its written forms as words."""

from __future__ import annotations

from runtime_min.text.written_forms import find_written_forms


def said(text: str, british: bool = False) -> str:
    """The text with written forms replaced by their words, apart from letters around them."""
    parts, position = [""], 0
    for form in find_written_forms(text, british):
        parts += [text[position : form.start], form.spoken]
        position = form.end
    parts.append(text[position:])
    spoken = parts[0]
    for part in parts[1:]:
        glued = spoken[-1:].isalnum() and (part[:1].isalnum() or part[:1] == "-")
        spoken += f" {part}" if part and (glued or (spoken[-1:] == "-" and part[0].isalnum())) else part
    return spoken
