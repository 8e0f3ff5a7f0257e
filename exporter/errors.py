"""Errors of the exporter; each message names the expected, the found and the remedy."""

from __future__ import annotations

from runtime_min.errors import KokoroError


class ExportError(KokoroError):
    """Base of all errors that the exporter raises; the command prints them without a traceback."""


class CheckpointError(ExportError):
    """A file is not a checkpoint, is damaged, or does not fit the model that its configuration describes."""

    exit_code = 3


class CheckpointUnreachableError(CheckpointError):
    """The hub could not deliver a file; local choices remain."""


class ConfigError(ExportError):
    """The model's configuration is unreadable or fits no Kokoro model."""

    exit_code = 3


class VoiceError(ExportError):
    """A voice pack is missing, or is not a [510, 256] table of finite float32 numbers."""

    exit_code = 3


class CacheError(ExportError):
    """A cached directory belongs to another user, or every user may write to it."""

    exit_code = 5


class PackageMissingError(ExportError):
    """A package that the exporter needs is not installed."""

    exit_code = 5


class ReferenceProcessError(ExportError):
    """The process that runs kokoro itself failed or ended."""

    exit_code = 5


class ValidationFailedError(ExportError):
    """A bundle differs from kokoro by more than the limits allow."""

    exit_code = 8
