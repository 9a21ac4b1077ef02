"""Each fault of Kaggle's, through the program: it is survived, or told with the way out and the next call goes on."""

import io
import zipfile
from dataclasses import dataclass, field

import pytest

from kaggle_stand_in import Fault, RateLimit

ID = "aerial-cactus-identification"
CLOSED_PORT = "http://127.0.0.1:9/api/v1"


@pytest.fixture
def twin(twins_of):
    (found,) = twins_of([ID])
    return found


@pytest.fixture
def held(kaggle, twin):
    return kaggle.add(ID, twin.archive)


def repacked(twin, compression=zipfile.ZIP_STORED):
    """The same files in an archive of other bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(twin.archive) as given, zipfile.ZipFile(content, "w", compression) as packed:
        for name in given.namelist():
            packed.writestr(name, given.read(name))
    return content.getvalue()


def spoilt(twin):
    """The archive with a wrong byte in the middle of its largest file."""
    content = bytearray(twin.archive.read_bytes())
    with zipfile.ZipFile(twin.archive) as opened:
        largest = max(opened.infolist(), key=lambda member: member.compress_size)
    content[largest.header_offset + largest.compress_size // 2] ^= 0xFF
    return bytes(content)


SURVIVED = {
    "cut at several bytes": [Fault.cut(0), Fault.cut(1), Fault.cut(10_000), Fault.cut(10_001)],
    "slow": [Fault.drip(2000, 0.02)],
    "429 with seconds": [Fault.answer(429, retry_after="1")],
    "500 and 503": [Fault.cut(5000), Fault.answer(500), Fault.answer(503)],
    "an address that expires": [Fault.cut(20_000), Fault(is_stale=True)],
    "no ranges": [Fault(no_ranges=True, cut_after=20_000), Fault(no_ranges=True)],
    "a wrong byte, once": [Fault(wrong_byte=True)],
    "a length that is too small, once": [Fault(longer=-1)],
    "a length that is too large, once": [Fault(longer=1)],
}
SENT_AGAIN = {"no ranges", "a wrong byte, once", "a length that is too small, once", "a length that is too large, once"}


@pytest.mark.parametrize("name", SURVIVED)
def test_survived(kaggle, user, held, twin, name):
    kaggle.fail("storage", *SURVIVED[name])
    user.prepare([ID])
    assert_prepared(user, twin)
    assert name in SENT_AGAIN or kaggle.traffic().twice == 0


@pytest.mark.parametrize("tells", ["seconds", "date"])
def test_the_api_says_when_to_come_again(kaggle, user, held, twin, tells):
    kaggle.limit = RateLimit(1, seconds=2, tells=tells)
    assert kaggle.limit.refuses() is None
    user.prepare([ID])
    assert kaggle.limit.refused
    assert_prepared(user, twin)


def test_an_archive_that_changes_between_two_ranges(kaggle, user, held, twin):
    """Never a mixture."""
    changed = repacked(twin)
    kaggle.fail("storage", Fault.cut(20_000), Fault(change=changed))
    user.prepare([ID], "--keep", "zip")
    assert_prepared(user, twin)
    assert (user.data_dir / ID / f"{ID}.zip").read_bytes() == changed


@dataclass
class Told:
    """A fault that ends the program, with what it says."""

    says: list[str]
    code: int = 1
    kaggle: dict = field(default_factory=dict)  # what is so at first: of the server,
    held: dict = field(default_factory=dict)  # of the competition,
    variables: dict = field(default_factory=dict)  # of the user's environment
    faults: list = field(default_factory=list)
    where: str = "storage"
    comes_again: bool = False  # what arrived is of no use


GOES_ON = "goes on where it stopped"
TOLD = {
    "rules": Told(["accept", f"https://www.kaggle.com/competitions/{ID}/rules"], held={"has_entered": False}),
    "closed": Told([ID, "closed", "--source FILE.zip"], held={"is_closed": True}),
    "hidden": Told([ID, "refuses"], held={"is_hidden": True}),
    "phone": Told(["phone", "https://www.kaggle.com/settings"], kaggle={"has_verified_phone": False}),
    "401": Told(["access token", "KAGGLE_API_TOKEN", "HTTP 401", "settings"], 2, kaggle={"knows_credentials": False}),
    "no account": Told(
        ["no Kaggle credentials", "KAGGLE_API_TOKEN", "--source"], 2, variables={"KAGGLE_API_TOKEN": ""}
    ),
    "half a legacy key": Told(
        ["KAGGLE_KEY", "KAGGLE_USERNAME"], 2, variables={"KAGGLE_API_TOKEN": "", "KAGGLE_KEY": "x"}
    ),
    "429 for long": Told(
        ["429", "1,000 s", GOES_ON], faults=[Fault.cut(20_000), Fault.answer(429, retry_after="1000")]
    ),
    "503 for long": Told(["503", GOES_ON], faults=[Fault.answer(503, retry_after="1000")], where="DownloadDataFiles"),
    "503 for good": Told(["503", GOES_ON], faults=[Fault.answer(503)] * 99),
    "no connection": Told(["can't be reached", GOES_ON], variables={"MLEBENCH_KAGGLE_URL": CLOSED_PORT}),
    "404": Told([ID, "404"], faults=[Fault.answer(404, "Not found")], where="DownloadDataFiles"),
    "a wrong byte, always": Told(["damaged", "md5"], faults=[Fault(wrong_byte=True)] * 99, comes_again=True),
    "a length that is too small": Told([ID], faults=[Fault(longer=-1)] * 99, comes_again=True),
    "a length that is too large": Told([ID], faults=[Fault(longer=1)] * 99, comes_again=True),
    "a page instead of a zip": Told(
        ["no zip archive"], held={"archive": b"<html>Come back later</html>"}, comes_again=True
    ),
}


TAKES_MINUTES = {"a length that is too large", "503 for good"}  # of pauses, which are as long as at Kaggle


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in TAKES_MINUTES else []) for name in TOLD]
)
def test_told(kaggle, user, held, twin, name):
    """What happened and the way out; then it is over, and the same command goes on."""
    case = TOLD[name]
    usual = {
        each: getattr(owner, each) for owner, changed in ((kaggle, case.kaggle), (held, case.held)) for each in changed
    }
    set_all(kaggle, case.kaggle)
    set_all(held, case.held)
    variables = dict(user.variables)
    user.variables.update(case.variables)
    kaggle.fail(case.where, *case.faults)
    told = user.prepare([ID], code=case.code)
    for text in case.says:
        assert text in told, told
    assert "Traceback" not in told
    assert not user.dataset(ID).is_prepared

    set_all(kaggle, {each: usual[each] for each in case.kaggle})
    set_all(held, {each: usual[each] for each in case.held})
    user.variables = variables
    kaggle.recover()
    user.prepare([ID])
    assert_prepared(user, twin)
    assert case.comes_again or kaggle.traffic().twice == 0


@pytest.mark.parametrize("tells_hashes", [True, False])
def test_an_archive_that_is_damaged_at_kaggle(kaggle, user, held, twin, tells_hashes):
    """Every byte arrives as it is sent: only unpacking finds it, and names archive and file."""
    held.archive, held.tells_hashes = spoilt(twin), tells_hashes
    told = user.prepare([ID], code=1)
    assert f"{ID}.zip" in told
    assert "train.zip" in told or "test.zip" in told
    assert "damaged" in told
    assert not user.dataset(ID).is_prepared

    held.archive = twin.archive
    for path in user.dataset(ID).home.glob("*.zip"):  # which the message asks for, if it is still there
        assert f"Remove {path} and run the same command again" in told, told
        path.unlink()
    user.prepare([ID])
    assert_prepared(user, twin)


def set_all(owner, values):
    for name, value in values.items():
        setattr(owner, name, value)


def assert_prepared(user, twin):
    """Byte for byte what source `synthetic` prepares, and nothing half-made beside it."""
    dataset = user.dataset(twin.id)
    assert dataset.manifest()["files"] == twin.files
    left = {path.name for path in dataset.home.iterdir() if not path.name.startswith(".")}
    assert left <= {"prepared", f"{twin.id}.zip", f"{twin.id}.zip.json"}
    assert not [*dataset.home.glob(".preparing*"), *dataset.home.glob(".fetching*")]
