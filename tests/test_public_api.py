"""What `import mlebench` offers, and what it costs."""

import subprocess
import sys

import pytest

import mlebench


@pytest.mark.parametrize("name", mlebench.__all__)
def test_every_public_name_is_there(name):
    assert getattr(mlebench, name)


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="nothing"):
        _ = mlebench.nothing


def test_importing_loads_nothing_from_outside():
    program = (
        "import sys; before = set(sys.modules); import mlebench\n"
        "print({name.partition('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "{'mlebench'}\n"
    assert done.stderr == ""
