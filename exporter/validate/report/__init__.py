"""The report of a validation: in a terminal, as JSON and as an HTML page."""
