"""One bundle carries every CPU level of its target; whichever runs speaks as kokoro does."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.compiler.targets import find_target
from exporter.parity.answers import Kokoro
from exporter.parity.figures import compare
from exporter.reference.utterances import Utterance
from runtime_min import Bundle
from runtime_min.engine.machine import this_machine
from tests.support.proof import assert_all_hold
from tests.support.utterances import phonemes_of

pytestmark = pytest.mark.e2e

MACHINE = this_machine()
LEVELS = [
    level.name for level in find_target("host", MACHINE).levels if MACHINE.features.issuperset(level.features)
]


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_that_this_machine_has_speaks_as_kokoro_speaks(
    all_levels: Path, kokoro: Kokoro, level: str
) -> None:
    with Bundle.load(all_levels, level=level) as bundle:
        assert bundle.level.name == level
        for tokens, voice in ((3, "bf_emma"), (12, "af_heart"), (62, "am_michael")):
            assert_all_hold(compare(bundle, kokoro, Utterance(phonemes_of(tokens), voice)))


def test_the_best_level_is_chosen_by_itself(all_levels: Path) -> None:
    with Bundle.load(all_levels) as bundle:
        assert bundle.level.name == LEVELS[0]
