"""What all tests share: how hypothesis searches, and emulated machines."""

import signal

import pytest
from hypothesis import settings

from tests.emulation import EmulatedMachine, make_machine

# A shell that starts the tests in the background has them ignore Ctrl-C, and with them what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A slow machine is no failure, and the same commit gives the same result everywhere.
settings.register_profile("kokoro-export", deadline=None, derandomize=True)
settings.load_profile("kokoro-export")


@pytest.fixture(scope="session")
def aarch64(tmp_path_factory: pytest.TempPathFactory) -> EmulatedMachine:
    """A machine to ship to, which is not this one."""
    return make_machine("aarch64", tmp_path_factory.mktemp("aarch64"))


@pytest.fixture(scope="session")
def x86_64(tmp_path_factory: pytest.TempPathFactory) -> EmulatedMachine:
    """A machine whose processor can be chosen."""
    return make_machine("x86_64", tmp_path_factory.mktemp("x86_64"))
