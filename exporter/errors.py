"""Errors of the exporter: each says what was expected, what was found and what to do."""

from __future__ import annotations

from runtime_min.errors import KokoroError


class ExportError(KokoroError):
    """Base of everything the exporter raises on purpose; the command prints it without a traceback."""


class CheckpointError(ExportError):
    """A checkpoint is not one, is damaged, or does not fit the model that its configuration describes."""

    exit_code = 3


class CheckpointUnreachableError(CheckpointError):
    """The hub could not deliver a file; local choices remain."""


class ConfigError(ExportError):
    """The model's configuration is not readable or not the one of a Kokoro model."""

    exit_code = 3


class VoiceError(ExportError):
    """A voice pack is missing, unknown by name, or not a [510, 256] table of finite float32 numbers."""

    exit_code = 3


class ReferenceProcessError(ExportError):
    """The process that runs kokoro itself failed or ended."""

    exit_code = 5


class ValidationFailedError(ExportError):
    """A bundle does not say what kokoro says."""

    exit_code = 8
