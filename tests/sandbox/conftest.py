"""Which sandboxes this machine has; one that it must have but hasn't fails the test instead of skipping it."""

import os

import pytest

from mlebench.sandbox import find_sandbox
from mlebench.sandbox.checks import WithImage

ON_AN_IMAGE = " on an image"


@pytest.fixture
def usable():
    """`usable(name)` is the back-end, or skips; "docker on an image" takes the image that MLEBENCH_TEST_IMAGE names.

    MLEBENCH_REQUIRE_SANDBOXES lists those whose absence is a failure.
    """
    required = os.environ.get("MLEBENCH_REQUIRE_SANDBOXES", "").split()

    def find(name):
        base = name.removesuffix(ON_AN_IMAGE)
        sandbox = find_sandbox(base)
        reason = sandbox.unavailable()
        image = os.environ.get("MLEBENCH_TEST_IMAGE")
        if reason is None and name != base and not image:
            reason = "MLEBENCH_TEST_IMAGE names no image"
        if reason is not None:
            (pytest.fail if base in required else pytest.skip)(f"{name}: {reason}")
        return sandbox if name == base else WithImage(sandbox, str(image))

    return find
