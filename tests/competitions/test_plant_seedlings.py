"""Names of pictures that occur for two species."""

import pytest

from mlebench import catalog
from mlebench.errors import PreparationError
from mlebench.preparation.engine import run_prepare

# Of two species with 25 pictures each the test takes number 2 of both, and number 3 of the second alone.


def prepare(folder, shared):
    """What is to be seen of two pictures of one name, each number `shared` of its species."""
    raw, public = folder / "raw", folder / "public"
    for species in ("Charlock", "Maize"):
        (raw / "train" / species).mkdir(parents=True)
        for number in range(25):
            name = f"{number:09}" if number == shared else f"{number:09}{species}"
            (raw / "train" / species / f"{name}.png").write_text(species)
    public.mkdir()
    run_prepare(catalog.get("plant-seedlings-classification"), raw, public, folder / "private")
    return [path.read_text() for path in sorted((public / "train").rglob(f"{shared:09}.png"))]


@pytest.mark.parametrize("shared", [2, 3])
def test_they_are_refused_if_one_is_in_the_test(shared, tmp_path):
    with pytest.raises(PreparationError, match=f"{shared:09}"):
        prepare(tmp_path, shared)
    assert (tmp_path / "raw" / "train" / "Charlock" / f"{shared:09}.png").read_text() == "Charlock"


def test_they_do_no_harm_in_the_training_part(tmp_path):
    assert prepare(tmp_path, 5) == ["Charlock", "Maize"]
