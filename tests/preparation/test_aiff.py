"""The AIFF files of synthetic twins, byte by byte and, where it exists, with Python's own reader."""

import struct
import sys

import numpy as np
import pytest

from mlebench.preparation.synthetic import aiff_bytes

# Chunk sizes, one channel, 2 frames, 16 bits, 2000 a second, offset and block size.
TWO_SAMPLES = bytes.fromhex(
    "464f524d 00000032 41494646 434f4d4d 00000012 0001 00000002 0010 4009fa00000000000000"
    "53534e44 0000000c 00000000 00000000 7fff 8001"
)


def test_bytes_are_those_of_the_format():
    assert aiff_bytes(np.array([1.0, -1.0]), 2000) == TWO_SAMPLES


@pytest.mark.parametrize("rate", [1, 1000, 2000, 8000, 44_100, 96_000])
def test_rate_is_an_extended_float(rate):
    sign_and_exponent, mantissa = struct.unpack(">HQ", aiff_bytes(np.zeros(1), rate)[28:38])
    assert mantissa * 2.0 ** (sign_and_exponent - 16383 - 63) == rate
    assert mantissa >> 63


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python has no reader of AIFF any more")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_pythons_reader_finds_the_samples(tmp_path):
    import aifc

    samples = np.sin(np.arange(4001))
    (tmp_path / "a.aif").write_bytes(aiff_bytes(samples, 2000))
    with aifc.open(str(tmp_path / "a.aif")) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate(), file.getnframes()) == (1, 2, 2000, 4001)
        found = np.frombuffer(file.readframes(5000), dtype=">i2")
    assert np.abs(found / 32767 - samples).max() < 1e-4
