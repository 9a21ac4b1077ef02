"""What is special about containers: what the engine is asked for, and what happens when it fails."""

import gc
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

import mlebench
from mlebench.errors import SandboxError
from mlebench.sandbox import Limits, find_sandbox
from mlebench.sandbox.checks import SANDBOX_CHECKS, alive, make_world, run_code, run_probe
from mlebench.sandbox.container import LABEL, own_identity
from mlebench.sandbox.docker import Image, User, container_settings
from mlebench.sandbox.engine import Engine, NoEngineError, address, connect, engine_from, find_engine, unavailable
from mlebench.sandbox.places import make_home, places_of
from mlebench.sandbox.system import gpu_devices

MEGABYTE = 1 << 20
DOCKER = Engine("unix:///x", "1.44", "Docker", "27.1", False, False, "runc", ("runc", "runsc"), "2", True, True)
PODMAN = replace(DOCKER, name="Podman", runtimes=("crun",), runtime="crun")
SYSTEM_PYTHON = "/usr/bin/python3"


@pytest.fixture
def docker(usable):
    return usable("docker")


@pytest.fixture
def client(docker):
    client = connect(find_engine())
    yield client
    client.close()


# --- what the engine is asked for


def settings(folder, engine=DOCKER, runtime=None, is_own=True, **limits):
    world = replace(make_world(folder / "world"), sockets={5000: folder / "s"})
    (folder / "scratch" / "tmp").mkdir(parents=True)
    (folder / "s").touch()
    make_home(folder / "scratch" / "home", world)
    places = places_of(world, folder / "scratch")
    image = Image("an-image", {"PATH": "/opt/bin:/bin", "LANG": "en"}, "python3", is_own)
    return container_settings(world, ["agent", "x"], Limits(10, **limits), places, User(7, 8), image, engine, runtime)


def test_it_asks_for_no_more_than_it_needs(tmp_path):
    asked = settings(tmp_path)
    host = asked["HostConfig"]
    assert asked["User"] == "7:8"
    assert asked["Cmd"][-2:] == ["agent", "x"]
    assert (host["NetworkMode"], host["ReadonlyRootfs"], host["CapDrop"]) == ("none", True, ["ALL"])
    assert "no-new-privileges" in host["SecurityOpt"]
    assert (host["Privileged"], host["IpcMode"], host["AutoRemove"]) == (False, "private", True)
    assert not {"PidMode", "CapAdd", "Devices", "DeviceRequests", "Memory", "UsernsMode", "Runtime"} & set(host)
    writable = {mount["Target"] for mount in host["Mounts"] if not mount["ReadOnly"]}
    assert writable == {"/tmp", "/var/tmp", "/home/submission", "/home/code", "/home/logs"}
    assert str(tmp_path) not in json.dumps([asked[key] for key in ("Cmd", "Entrypoint", "Env", "Labels")])


def test_it_asks_for_limits(tmp_path):
    asked = settings(tmp_path, memory_bytes=1 << 30, processes=50, cpus=[1, 3], gpus=[0, 2])["HostConfig"]
    assert 1 << 30 < asked["Memory"] == asked["MemorySwap"] < (1 << 30) + 64 * MEGABYTE
    assert asked["ShmSize"] == 1 << 29
    assert 50 < asked["PidsLimit"] < 56
    assert asked["CpusetCpus"] == "1,3"
    assert asked["DeviceRequests"] == [{"Driver": "nvidia", "DeviceIDs": ["0", "2"], "Capabilities": [["gpu"]]}]


def test_without_an_image_gpus_are_devices_of_this_machine(tmp_path):
    asked = settings(tmp_path, is_own=False, gpus=[1])["HostConfig"]
    assert "DeviceRequests" not in asked
    assert "/dev/nvidia1" in [device["PathOnHost"] for device in asked["Devices"]]


def test_gpus_that_were_not_given_stay_outside(tmp_path):
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null"):
        (tmp_path / name).touch()
    assert [path.name for path in gpu_devices([1], tmp_path)] == ["nvidia1", "nvidia-uvm", "nvidiactl"]
    assert gpu_devices([], tmp_path) == []


def test_what_engines_need_to_be_told(tmp_path):
    rootless = settings(tmp_path / "a", replace(PODMAN, rootless=True), gpus=[1])["HostConfig"]
    assert rootless["UsernsMode"] == "keep-id"
    assert rootless["DeviceRequests"] == [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=1"]}]
    assert settings(tmp_path / "b", replace(DOCKER, remaps_users=True))["HostConfig"]["UsernsMode"] == "host"
    assert settings(tmp_path / "c", runtime="runsc")["HostConfig"]["Runtime"] == "runsc"
    assert "Healthcheck" not in settings(tmp_path / "d")  # Podman would look for systemd


def test_the_environment_is_the_worlds_over_the_images(tmp_path):
    found = dict(each.split("=", 1) for each in settings(tmp_path)["Env"])
    assert found["PATH"] == "/opt/bin:/bin"
    assert found["LANG"] == "C.UTF-8"
    assert found["HTTP_PROXY"] == ""
    assert found["NVIDIA_VISIBLE_DEVICES"] == "void"
    given = dict(each.split("=", 1) for each in settings(tmp_path / "gpu", gpus=[0])["Env"])
    assert "NVIDIA_VISIBLE_DEVICES" not in given


# --- which engine there is


def test_where_the_engine_listens(tmp_path):
    assert address({"DOCKER_HOST": "unix:///there"}) == "unix:///there"
    with pytest.raises(NoEngineError, match="must run on this machine"):
        address({"DOCKER_HOST": "tcp://10.0.0.7:2375"})


@pytest.mark.skipif(Path("/var/run/docker.sock").exists(), reason="Docker's own socket comes first")
def test_a_users_own_podman_is_found(tmp_path):
    place = tmp_path / "podman" / "podman.sock"
    place.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        assert address({"XDG_RUNTIME_DIR": str(tmp_path)}) == f"unix://{place}"


def test_what_engines_say_of_themselves():
    podman = engine_from(
        "unix:///x",
        {
            "Rootless": True,
            "Runtimes": {"runc": {"path": "/bin/sh"}, "kata": {"path": "/no/where"}},
            "MemoryLimit": True,
        },
        {"ApiVersion": "1.41", "Components": [{"Name": "Podman Engine"}]},
    )
    assert (podman.name, podman.rootless, podman.runtimes, podman.memory_limit) == ("Podman", True, ("runc",), True)
    docker = engine_from("unix:///x", {"SecurityOptions": ["name=rootless", "name=userns"]}, {"ApiVersion": "1.44"})
    assert (docker.name, docker.rootless, docker.remaps_users) == ("Docker", True, True)


@pytest.mark.parametrize(
    ("engine", "runtime", "says"),
    [
        (DOCKER, None, None),
        (DOCKER, "runsc", None),
        (DOCKER, "kata", 'no runtime "kata"; it has runc, runsc'),
        (PODMAN, "crun", None),
        (PODMAN, "runc", 'runtime = "runc"'),
        (replace(DOCKER, rootless=True), None, "Podman without"),
        (replace(PODMAN, rootless=True), None, None),
    ],
)
def test_which_engines_can_hold_attempts(engine, runtime, says):
    reason = unavailable(engine, runtime)
    assert (reason is None) if says is None else says in str(reason)


@pytest.mark.parametrize(
    ("block", "host", "says"),
    [("docker", "unix:///nowhere", "pip install"), ("", "unix:///nowhere", "no container engine answers")],
)
def test_a_machine_without_says_what_to_do(block, host, says):
    code = f"import sys; sys.modules.update({{name: None for name in {block.split()!r}}})\n"
    code += "from mlebench.sandbox.docker import Docker; print(Docker().unavailable())"
    environment = {**os.environ, "DOCKER_HOST": host}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert says in result.stdout
    assert "Traceback" not in result.stderr


# --- images


def test_an_image_that_is_not_there(docker, tmp_path):
    with pytest.raises(SandboxError, match='no image "mlebench-no-such"'):
        run_code(docker, tmp_path, "", image="mlebench-no-such")


@contextmanager
def image_of(client, *changes):
    """An empty image with changes."""
    name = f"localhost/mlebench-test-{os.getpid()}"
    client.import_image_from_data(bytes(1024), name, "latest", list(changes))
    try:
        yield name
    finally:
        client.remove_image(name, force=True)


def test_an_image_with_volumes_is_refused(docker, client, tmp_path):
    with image_of(client, "VOLUME /big") as name, pytest.raises(SandboxError, match="declares volumes"):
        run_code(docker, tmp_path, "", image=name)


def test_an_image_without_python_says_so(docker, client, tmp_path):
    with image_of(client, "ENV A=1") as name, pytest.raises(SandboxError, match="python3"):
        run_code(docker, tmp_path, "", image=name)


def test_a_root_stands_in_for_the_system(docker, tmp_path):
    """The tree of a system, here made of this one's folders."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        if Path("/", name).is_symlink():
            (root / name).symlink_to(Path("/", name).readlink())
    (root / "usr").symlink_to("/usr")
    (root / "etc" / "mime.types").write_text("of the root")
    tmp_path.chmod(0o755)
    code = "import json, sys; print(json.dumps([sys.prefix, open('/etc/mime.types').read()]))"
    assert run_probe(docker, tmp_path / "x", code, root=root, python=None) == ["/usr", "of the root"]


# --- limits that the kernel holds


def test_memory_that_is_taken_at_once_is_stopped_by_the_kernel(docker, tmp_path):
    """A gigabyte between two looks; it is shared, so no limit of a single process holds it."""
    code = "import mmap\nblock = mmap.mmap(-1, 1 << 30)\nfor at in range(0, 1 << 30, 4096): block[at] = 1"
    if not find_engine().memory_limit:
        pytest.skip("the engine limits no memory")
    outcome = run_code(docker, tmp_path, code, Limits(30, memory_bytes=150 * MEGABYTE)).outcome
    assert (outcome.end, outcome.exit_code) == ("out-of-memory", None)
    assert outcome.peak_memory_bytes < 260 * MEGABYTE


def test_a_child_that_the_kernel_kills_is_counted(docker, tmp_path):
    if not find_engine().memory_limit:
        pytest.skip("the engine limits no memory")
    child = "import mmap\nblock = mmap.mmap(-1, 1 << 30)\nfor at in range(0, 1 << 30, 4096): block[at] = 1"
    code = f"import subprocess, sys; print(subprocess.run([sys.executable, '-c', {child!r}]).returncode)"
    ran = run_code(docker, tmp_path, code, Limits(30, memory_bytes=150 * MEGABYTE))
    assert (ran.outcome.end, ran.output, ran.outcome.memory_kills) == ("completed", "-9\n", 1)


def test_no_more_processes_than_allowed_are_ever_there(docker, tmp_path):
    code = """
import os, time
count = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(5)
        count += 1
except OSError:
    print(count)
"""
    ran = run_code(docker, tmp_path, code, Limits(20, processes=30))
    assert ran.outcome.end == "completed"
    assert 25 <= int(ran.output) <= 30


# --- the runner, the engine and the container part


ATTACK_ON_THE_FIRST = """
import ctypes, json, os, resource, signal, subprocess, sys, time
libc = ctypes.CDLL(None)
done = []
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the first process passes it on
for number in (signal.SIGSTOP, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
    try: os.kill(1, number)
    except OSError: pass
for name in ("fd/0", "fd/9", "mem", "oom_score_adj", "environ"):
    for mode in (os.O_RDONLY, os.O_WRONLY):
        try:
            os.close(os.open("/proc/1/" + name, mode))
            done.append([name, mode])
        except OSError: pass
for request in (16, 0x4206):  # attach, seize
    if libc.ptrace(request, 1, None, None) == 0: done.append(request)
for limit in (resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_NOFILE):
    try:
        resource.prlimit(1, limit, (0, 0))
        done.append(limit)
    except OSError: pass
resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE, (100, 100))
print(json.dumps(done), flush=True)
"""


def test_the_first_process_is_out_of_the_agents_reach(docker, tmp_path):
    # that everybody may read the score is the kernel's rule
    assert run_probe(docker, tmp_path, ATTACK_ON_THE_FIRST) == [["oom_score_adj", os.O_RDONLY]]


def test_an_agent_can_not_outlive_its_runner(docker, tmp_path):
    """Although it attacks the process that would notice."""
    marker = f"survivor-{os.getpid()}-{time.monotonic_ns()}"
    agent = (
        ATTACK_ON_THE_FIRST
        + f"""
os.kill(os.getppid(), signal.SIGSTOP)
subprocess.run([sys.executable, "-c", "import time; time.sleep(600)", {marker!r}])
"""
    )
    code = f"import sys; sys.path[:0] = {sys.path!r}\nfrom pathlib import Path\nfrom mlebench.sandbox import checks\n"
    code += f"checks.run_code(checks.open_sandbox('docker'), Path({str(tmp_path / 'world')!r}), {agent!r})"
    (tmp_path / "runner.py").write_text(code)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, str(tmp_path / "runner.py")], env=environment) as runner:
        wait_until(lambda: alive(marker) or runner.poll() is not None)
        assert runner.poll() is None
        runner.kill()
    wait_until(lambda: not alive(marker))


def wait_until(holds, seconds=20):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def container_of(client, runner):
    """A container that does not run, as if `runner` had made it."""
    name = f"mlebench-test-{time.monotonic_ns()}"
    world = {"Image": system_image(client), "Cmd": ["x"], "Labels": {LABEL: json.dumps(runner)}}
    client.create_container_from_config(world, name)
    return name


def system_image(client):
    from mlebench.sandbox.docker import _system_image

    return _system_image(client, Path("/"))


def names(client):
    found = client.containers(all=True, filters={"label": LABEL})
    return {name.lstrip("/") for container in found for name in container["Names"]}


def own(client):
    """The containers of this process: others may use the same engine."""
    found = client.containers(all=True, filters={"label": LABEL})
    return [container for container in found if json.loads(container["Labels"][LABEL]) == own_identity()]


def test_what_dead_runners_left_is_removed(docker, client, tmp_path):
    own = own_identity()
    dead = container_of(client, {**own, "pid": os.getpid(), "born": own["born"] - 1})  # its number was given anew
    rebooted = container_of(client, {**own, "boot": "another"})
    living = container_of(client, own)
    elsewhere = container_of(client, {**own, "namespace": "pid:[1]", "pid": 2**22 - 1})
    try:
        assert run_code(docker, tmp_path, "").outcome.end == "completed"
        assert names(client) & {dead, rebooted, living, elsewhere} == {living, elsewhere}
    finally:
        for name in (living, elsewhere):
            client.remove_container(name)


def test_no_container_and_no_descriptor_is_left(docker, client, tmp_path):
    run_code(docker, tmp_path / "0", "")
    assert not own(client)
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    run_code(docker, tmp_path / "1", "")
    with pytest.raises(SandboxError):
        run_code(docker, tmp_path / "2", "", home_files={"a": tmp_path / "missing"})
    assert not own(client)
    assert len(list(Path("/proc/self/fd").iterdir())) <= descriptors


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("podman") is None, reason="needs Podman as root")
def test_an_engine_that_dies_is_the_machines_fault(tmp_path, monkeypatch):
    place = f"/tmp/mlebench-podman-{os.getpid()}.sock"
    marker = f"engine-{os.getpid()}-{time.monotonic_ns()}"
    with subprocess.Popen(["podman", "system", "service", "--time=0", f"unix://{place}"]) as service:
        try:
            wait_until(lambda: Path(place).exists())
            monkeypatch.setenv("DOCKER_HOST", f"unix://{place}")

            def kill_the_engine(_):
                if alive(marker):
                    service.kill()

            with pytest.raises(SandboxError):
                run_code(
                    find_sandbox("docker"),
                    tmp_path,
                    "import time; time.sleep(60)",
                    marker=marker,
                    observer=kill_the_engine,
                )
            wait_until(lambda: not alive(marker))
            with warnings.catch_warnings(action="ignore"):
                gc.collect()  # docker-py leaves sockets open that could not be connected
        finally:
            service.kill()
            Path(place).unlink(missing_ok=True)


ROOTLESS = os.environ.get("MLEBENCH_TEST_ROOTLESS_USER")


@pytest.mark.skipif(not ROOTLESS, reason="MLEBENCH_TEST_ROOTLESS_USER names no user who may run Podman")
def test_podman_without_root():
    """The same checks, run by a user without rights who has Podman, with the system's Python."""
    user = pwd.getpwnam(str(ROOTLESS))
    folder = Path("/tmp") / f"mlebench-rootless-podman-{os.getpid()}"
    package = folder / "mlebench"
    package.mkdir(parents=True)
    source = Path(mlebench.__file__).parent
    for name in ("__init__.py", "errors.py"):
        shutil.copy(source / name, package / name)
    shutil.copytree(source / "sandbox", package / "sandbox", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("docker", "requests", "urllib3", "idna", "certifi", "charset_normalizer"):
        shutil.copytree(Path(sys.modules[name].__path__[0]) if name in sys.modules else _package(name), folder / name)
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    (folder / "run").mkdir()
    os.chown(folder / "run", user.pw_uid, user.pw_gid)
    place = f"unix://{folder}/run/p.sock"
    environment = {
        "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": str(folder),
        "HOME": user.pw_dir,
        "USER": user.pw_name,
        "XDG_RUNTIME_DIR": str(folder / "run"),
        "DOCKER_HOST": place,
        "LANG": "C.UTF-8",
    }
    who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "env": environment, "cwd": folder}
    service = subprocess.Popen(
        ["podman", "system", "service", "--time=0", place], stderr=subprocess.DEVNULL, start_new_session=True, **who
    )
    try:
        wait_until((folder / "run" / "p.sock").exists)
        command = [SYSTEM_PYTHON, "-B", "-m", "mlebench.sandbox.checks", "docker"]
        result = subprocess.run(command, capture_output=True, text=True, check=False, **who)
    finally:
        os.killpg(service.pid, signal.SIGKILL)  # without root, Podman is two processes
        service.wait()
        for pause in (folder / "run").rglob("pause.pid"):  # and keeps a third
            with suppress(ProcessLookupError):
                os.kill(int(pause.read_text()), signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("passed") == len(SANDBOX_CHECKS)


def _package(name):
    import importlib

    return Path(importlib.import_module(name).__path__[0])
