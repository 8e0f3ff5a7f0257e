"""The number of threads comes from the caller, the environment or the cores, and is refused by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.errors import ThreadsError
from runtime_min.threads import choose_threads, usable_cores

VARIABLE = "TVM_NUM_THREADS"


def test_without_a_wish_all_usable_cores_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert choose_threads(None) == len(usable_cores())


@given(number=st.integers(1, 1024), other=st.integers(1, 1024))
def test_an_argument_comes_before_the_environment(number: int, other: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(other))
        assert (choose_threads(number), choose_threads(None)) == (number, other)


@pytest.mark.parametrize("setting", ["", " ", "abc", "-1", "0", "1025", "1.5", "9" * 5_000])
def test_a_wrong_variable_is_refused_by_its_name(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, setting)
    with pytest.raises(ThreadsError, match=VARIABLE):
        choose_threads(None)


@pytest.mark.parametrize("threads", [0, -1, 1025, True, 2.0, "2", pytest.param(10**5_000, id="huge")])
def test_a_wrong_argument_is_refused(threads: object) -> None:
    with pytest.raises(ThreadsError):
        choose_threads(threads)  # type: ignore[arg-type]
