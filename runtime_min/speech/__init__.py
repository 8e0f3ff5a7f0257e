"""Text of any length: words, pieces, joins, timings and streams."""
