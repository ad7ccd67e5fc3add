"""Faults planted into the real code are caught, each by an invariant that names it, or nothing is proven."""

from __future__ import annotations

import pytest

from tests.sim.faults import FAULTS, Fault, hunt
from tests.sim.schedule import play

SEEDS = range(100)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
def test_a_planted_fault_is_caught(fault: Fault) -> None:
    catch = hunt(fault, SEEDS)
    assert catch is not None, f"{len(SEEDS)} schedules with {fault.name} break no invariant"
    print(f"{fault.name}: seed {catch.seed} breaks `{catch.invariant}`: {catch.detail}")
    assert catch.invariant in fault.invariants
    # The same schedule is sound without the fault, so that it is the fault that was found.
    play(catch.seed)
