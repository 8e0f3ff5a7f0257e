"""Makes an audiobook with chapters of an EPUB: `kokoro-speak BUNDLE --book book.epub -o book.m4b`.

    from kokoro_books import make_audiobook, read_book
    make_audiobook(bundle, read_book("book.epub"), "book.m4b")

With `book-read-aloud.epub` in place of `book.m4b` it makes an EPUB 3 with media overlays, which show what is
heard. It is the extra `books` of the runtime's distribution.
"""

from .audiobook import Progress, make_audiobook, voice_for
from .epub import Book, Chapter, read_book
from .errors import BookError

__all__ = ["Book", "BookError", "Chapter", "Progress", "make_audiobook", "read_book", "voice_for"]
