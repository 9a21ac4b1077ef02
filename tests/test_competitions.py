"""Every check on every built-in competition; and each check has been seen to fail."""

from operator import attrgetter

import pytest

from mlebench import catalog
from mlebench.checks import COMPETITION_CHECKS, Twin, run_check

COMPETITIONS = [pytest.param(c, id=f"{c.id}-{c.edition}") for c in catalog.in_all_editions()]


@pytest.mark.parametrize("check", COMPETITION_CHECKS, ids=attrgetter("__name__"))
@pytest.mark.parametrize("competition", COMPETITIONS)
def test_competition(competition, check, twins, tmp_path):
    result = run_check(check, competition, Twin(twins(competition.id, competition.edition), tmp_path))
    assert result.status in ("passed", "excepted"), result.reason


@pytest.mark.parametrize("competition", COMPETITIONS)
def test_exceptions_name_checks(competition):
    assert set(competition.exceptions) <= {check.__name__ for check in COMPETITION_CHECKS}
