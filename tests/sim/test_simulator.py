"""Whatever happens to several nodes, once they have heard everything they agree and nothing kept is lost."""

from __future__ import annotations

import pytest

from tests.sim.schedule import play

SCHEDULES = 200


@pytest.mark.parametrize("seed", [pytest.param(seed, id=f"seed_{seed:04}") for seed in range(SCHEDULES)])
def test_nodes_agree_in_the_end(seed: int) -> None:
    play(seed)
