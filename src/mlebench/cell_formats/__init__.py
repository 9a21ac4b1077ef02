"""Cells that hold more than one value: one module a format, registered in `mlebench.cells.FORMATS`."""
