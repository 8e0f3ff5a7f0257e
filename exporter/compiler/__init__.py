"""Everything that decides the bytes of a compiled library; the library cache hashes this folder."""
