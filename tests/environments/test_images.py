"""Environments as images."""

import gc
import io
import os
import shutil
import subprocess
import sys
import tarfile

import pytest

from mlebench.environments import Software, build, find
from mlebench.environments.images import BASE_IMAGE, build_arguments, make_context, render
from mlebench.environments.images import plan as plan_image
from mlebench.errors import UsageError


def quiet(_):
    """Says nothing."""


def steps(dockerfile):
    """The instructions, one a line."""
    text = dockerfile.replace("\\\n", " ")
    return [" ".join(line.split()) for line in text.splitlines() if line.strip() and not line.startswith("#")]


def test_an_image_with_nothing_asked_for(software):
    lines = steps(render(software(), BASE_IMAGE, {}))
    assert lines[0] == f"FROM {BASE_IMAGE}"
    assert not [line for line in lines if "requirements" in line or "npm" in line or "--no-deps" in line]
    assert {line.partition(" ")[0] for line in lines} == {"FROM", "ARG", "COPY", "RUN", "ENV"}


def test_an_image_with_everything(software, npm_agent):
    (npm_agent / "requirements.lock").write_text("tiny==1.0 --hash=sha256:00\n")
    table = {"base": "standard", "requirements": "requirements.lock", "npm": "package-lock.json", "python": ">=3.12"}
    wanted = Software.parse({**table, "no_deps": ["other==0.5"], "root_packages": ["git", "tmux"]}, npm_agent)
    lines = steps(render(wanted, "debian:trixie", {"PIP_INDEX_URL": "https://index"}))
    text = "\n".join(lines)
    order = [
        "FROM debian:trixie",
        "ARG PIP_INDEX_URL",
        "SpecifierSet as S; S('>=3.12')",
        "COPY standard.in light.in standard.lock /opt/mlebench/",
        "RUN pip install --no-cache-dir -r /opt/mlebench/standard.in -c /opt/mlebench/standard.lock",
        "apt-get install -y --no-install-recommends git tmux",
        "-r /opt/mlebench/requirements.lock -c /opt/mlebench/standard.lock --require-hashes",
        "--no-deps other==0.5",
        "npm ci --ignore-scripts",
        "npm rebuild near",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_what_agents_have_in_common_comes_first_so_that_layers_are_shared(software):
    one = steps(render(software("tiny==1.0\n", base="light", name="a", root_packages=["git"]), BASE_IMAGE, {}))
    two = steps(render(software("tiny==2.0\n", base="light", name="b", no_deps=["other==0.5"]), BASE_IMAGE, {}))
    base = next(number for number, line in enumerate(one) if "light.in -c" in line)
    assert one[: base + 1] == two[: base + 1]


def test_the_archive_holds_what_is_copied_and_is_the_same_each_time(software):
    wanted = software("tiny==1.0\n", base="light")
    dockerfile = render(wanted, BASE_IMAGE, {})
    archive = make_context(wanted, dockerfile).getvalue()
    assert archive == make_context(wanted, dockerfile).getvalue()
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        names = set(tar.getnames())
    copied = {name for line in steps(dockerfile) if line.startswith("COPY") for name in line.split()[1:-1]}
    assert copied <= names
    assert {"Dockerfile", "light.in", "light.lock", "requirements.lock"} <= names


def test_settings_that_lead_to_packages_are_passed_on_and_folders_of_the_host_are_not(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith(("PIP_", "SSL_", "REQUESTS_", "NODE_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = https://index/simple\nextra-index-url = file:///srv/simple https://more/simple\n"
        "find-links = /opt/wheels\ntimeout = 7\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PATH", f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")  # noqa: PTH120
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:1")
    monkeypatch.setenv("SECRET_TOKEN", "x")
    assert build_arguments() == {
        "PIP_INDEX_URL": "https://index/simple",
        "PIP_EXTRA_INDEX_URL": "https://more/simple",
        "PIP_TIMEOUT": "7",
        "HTTPS_PROXY": "http://proxy:1",
    }
    (tmp_path / "bundle.crt").write_text("certificate")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "bundle.crt"))
    assert build_arguments()["PIP_CERT"] == build_arguments()["NODE_EXTRA_CA_CERTS"] == "/opt/mlebench/certificates.crt"
    with tarfile.open(fileobj=make_context(Software(), "FROM x")) as tar:
        file = tar.extractfile("certificates.crt")
        assert file is not None
        assert file.read() == b"certificate"


def test_without_an_image_folders_are_asked_for(software):
    wanted = software("tiny==1.0\n")
    with pytest.raises(UsageError, match="is not built"):
        find(wanted, "docker")
    assert plan_image(wanted).digest != plan_image(software("tiny==2.0\n")).digest


def test_a_base_image_is_for_images_only(software):
    with pytest.raises(UsageError, match="--base-image is for --sandbox docker"):
        build(software(), "bubblewrap", say=quiet, base_image="debian:trixie")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_engine_that_is_not_there(software, monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(UsageError, match=r"none\.sock|mlebench\[docker\]"):
        build(software(), "docker", say=quiet)
    gc.collect()  # docker's package leaves the socket of a failed connection open


@pytest.mark.slow
def test_an_image_is_built_and_holds_what_was_asked_for(tmp_path, monkeypatch):
    """On a base image that MLEBENCH_TEST_IMAGE names, with an engine that answers and the true index of packages."""
    base_image = os.environ.get("MLEBENCH_TEST_IMAGE")
    if not base_image:
        pytest.skip("MLEBENCH_TEST_IMAGE names no base image, such as debian:trixie-slim")
    monkeypatch.setenv("MLEBENCH_ENVIRONMENTS_DIR", str(tmp_path / "environments"))
    (agent := tmp_path / "agent").mkdir()
    (agent / "requirements.lock").write_text("six==1.17.0\n")
    software = Software.parse({"requirements": "requirements.lock", "no_deps": ["coolname==2.2.0"]}, agent)
    said = []
    built = build(software, "docker", say=said.append, base_image=base_image)
    assert find(software, "docker") == built
    assert built.image is not None
    assert build(software, "docker", say=said.append) == built
    assert said[-1] == f"the image {built.image} is there already"
    command = ["python", "-c", "import six, coolname, sys; print(six.__version__, sys.prefix)"]
    engine = "podman" if shutil.which("podman") else "docker"
    ran = subprocess.run([engine, "run", "--rm", built.image, *command], capture_output=True, text=True, check=True)
    assert ran.stdout == "1.17.0 /opt/mlebench/python\n"
    subprocess.run([engine, "rmi", built.image], capture_output=True, check=True)
