"""The number of threads comes from the caller, the environment or the cores, and is refused by name."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.errors import ThreadsError
from runtime_min.threads import ahead, choose_threads, usable_cores

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


@given(st.lists(st.integers(), max_size=30), st.integers(0, 30), st.integers(1, 5))
def test_another_thread_computes_a_bounded_number_of_results_ahead(
    numbers: list[int], fails: int, most: int
) -> None:
    taken: list[int] = []
    begun: list[int] = []
    threads = set()

    def results() -> Iterator[int]:
        for index, number in enumerate(numbers):
            threads.add(threading.get_ident())
            begun.append(number)
            # One that is computed, beside those that wait.
            assert len(begun) <= len(taken) + most + 1
            if index == fails:
                raise ValueError(number)
            yield number

    def take() -> None:
        for number in ahead(results(), most):
            taken.append(number)

    if fails < len(numbers):
        with pytest.raises(ValueError, match=str(numbers[fails])):
            take()
    else:
        take()
    assert taken == numbers[:fails]
    assert len(threads) == (1 if numbers else 0) and threading.get_ident() not in threads
