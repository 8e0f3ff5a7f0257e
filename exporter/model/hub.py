"""Files of the official model on the Hugging Face hub, at a pinned revision."""

from __future__ import annotations

import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

from exporter.errors import CheckpointError, CheckpointUnreachableError
from runtime_min.format.verify import sha256_of

REPOSITORY = "hexgrad/Kokoro-82M"
REVISION = "f3ff3571791e39611d31c381e3a41a3af07b4987"
SHA256 = {
    "kokoro-v1_0.pth": "496dba118d1a58f5f3db2efc88dbdc216e0483fc89fe6e47ee1f2c53f18ad1e4",
    "config.json": "5abb01e2403b072bf03d04fde160443e209d7a0dad49a423be15196b9b43c17f",
}
_TIMEOUT_SECONDS = 10.0


def download(filename: str) -> Path:
    """Fetches a file of the pinned revision, or takes it from the hub's own cache.

    Raises:
        CheckpointUnreachableError: the hub did not deliver.
        CheckpointError: the file has another digest than the known one.
    """
    from huggingface_hub import hf_hub_download

    fetch = partial(hf_hub_download, REPOSITORY, filename, revision=REVISION)
    try:
        try:
            path = Path(fetch(local_files_only=True))
        except FileNotFoundError:
            _check_reachable()
            path = Path(fetch(etag_timeout=_TIMEOUT_SECONDS))
    except OSError as error:  # The hub's client derives all its errors from it.
        reason = (str(error).strip() or "no reason given").splitlines()[0]
        raise CheckpointUnreachableError(
            f"could not get {filename} of {REPOSITORY} from the hub ({type(error).__name__}: {reason}). "
            "Choose local files with --checkpoint PATH --config PATH --voices DIRECTORY, or weights that "
            "babble with --checkpoint synthetic."
        ) from error
    if filename in SHA256 and (found := sha256_of(path)) != SHA256[filename]:
        raise CheckpointError(
            f"{path} has SHA-256 {found}, and {filename} of revision {REVISION[:8]} has {SHA256[filename]}. "
            "Delete it and try again."
        )
    return path


def _check_reachable() -> None:
    """Fails at once where there is no network: the hub's client tries for half a minute."""
    from huggingface_hub import constants

    try:
        with urllib.request.urlopen(constants.ENDPOINT, timeout=_TIMEOUT_SECONDS):
            pass
    except urllib.error.HTTPError:
        pass  # It answers.
