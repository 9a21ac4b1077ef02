"""Packages to install without a network: wheels in a folder, and a registry for npm on this machine."""

import base64
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mlebench.environments import Software


def write_wheel(folder, name, version, code="", script=None):
    """A wheel of one module, with a command of the same name if `script` is given. Returns its path."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"VERSION = {version!r}\n{code}",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if script:
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{name} = {name}:{script}\n"
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(text.encode())}\n"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(member, text)
    return path


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """The only place where packages come from; `tiny` and `other` are there."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    write_wheel(folder, "tiny", "1.0", "def main():\n    print('tiny speaks')\n", script="main")
    write_wheel(folder, "tiny", "2.0")
    write_wheel(folder, "other", "0.5")
    for name, value in {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(folder),
        "UV_OFFLINE": "1",
        "UV_FIND_LINKS": str(folder),
        "UV_CACHE_DIR": str(tmp_path / "uv-cache"),
        "MLEBENCH_ENVIRONMENTS_DIR": str(tmp_path / "environments"),
    }.items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.fixture
def add_wheel(wheels):
    """`add_wheel("tiny", "3.0")`: one more package; returns its file."""
    return lambda *arguments: write_wheel(wheels, *arguments)


@pytest.fixture
def software(tmp_path, wheels):
    """`software(requirements="tiny==1.0")`: from a table whose files are written into an agent's folder."""

    def make(requirements=None, name="agent", **table):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        if requirements is not None:
            (folder / "requirements.lock").write_text(requirements)
            table["requirements"] = "requirements.lock"
        return Software.parse(table, folder)

    return make


def package(name, version, **more):
    """A package of npm as it is shipped: it has a program of its own name."""
    files = {
        "package.json": json.dumps({"name": name, "version": version, "bin": {name: "run.js"}, **more}),
        "run.js": f"#!/usr/bin/env node\nconsole.log('{name} {version} runs');\n",
        "install.js": "require('fs').writeFileSync(__dirname + '/installed.txt', 'yes');\n",
    }
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(f"package/{path}")
            member.size, member.mode = len(text), 0o755
            archive.addfile(member, io.BytesIO(text.encode()))
    return data.getvalue()


@pytest.fixture
def npm_agent(tmp_path, monkeypatch):
    """The folder of an agent that names the package `near`, which asks for `far`; both have install scripts."""
    scripts = {"scripts": {"install": "node install.js"}}
    shipped = {
        "near": package("near", "1.0.0", dependencies={"far": "1.0.0"}, **scripts),
        "far": package("far", "1.0.0", **scripts),
    }

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self):
            data = shipped[self.path.split("/")[1]]
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("npm_config_registry", url)
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm-cache"))
    folder = tmp_path / "npm-agent"
    folder.mkdir()
    own = {"name": "npm-agent", "version": "1.0.0", "dependencies": {"near": "1.0.0"}}
    packages = {
        "": own,
        **{
            f"node_modules/{name}": {
                "version": "1.0.0",
                "resolved": f"{url}/{name}/-/{name}-1.0.0.tgz",
                "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode(),
                "hasInstallScript": True,
                "bin": {name: "run.js"},
                **({"dependencies": {"far": "1.0.0"}} if name == "near" else {}),
            }
            for name, data in shipped.items()
        },
    }
    (folder / "package.json").write_text(json.dumps(own))
    lock = {"name": "npm-agent", "version": "1.0.0", "lockfileVersion": 3, "requires": True, "packages": packages}
    (folder / "package-lock.json").write_text(json.dumps(lock))
    yield folder
    server.shutdown()
    thread.join()
    server.server_close()
