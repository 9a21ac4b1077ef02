"""DICOM files of synthetic twins are real ones."""

import io

import numpy as np
import pydicom
import pytest

from mlebench.preparation.synthetic import dicom_bytes


@pytest.mark.parametrize("shape", [(3, 5), (64, 56), (1, 1)])
def test_pydicom_reads_pixels_and_facts(shape):
    pixels = np.arange(np.prod(shape)).reshape(shape).astype(np.uint16) * 17
    content = dicom_bytes(pixels, "1.2.826.0.1.5", {(0x0010, 0x0040): ("CS", "F"), (0x0010, 0x1010): ("AS", "061Y")})
    dataset = pydicom.dcmread(io.BytesIO(content))
    np.testing.assert_array_equal(dataset.pixel_array, pixels)
    assert (dataset.Rows, dataset.Columns) == shape
    assert (dataset.PatientSex, dataset.PatientAge) == ("F", "061Y")
    assert dataset.SOPInstanceUID == dataset.file_meta.MediaStorageSOPInstanceUID == "1.2.826.0.1.5"
    assert dataset.PhotometricInterpretation == "MONOCHROME2"


def test_bytes_depend_on_the_arguments_alone():
    pixels = np.zeros((2, 3), dtype=np.uint16)
    assert dicom_bytes(pixels, "1.2") == dicom_bytes(pixels, "1.2") != dicom_bytes(pixels, "1.3")
