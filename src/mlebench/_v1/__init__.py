"""Edition v1's Python API as thin adapters over this package.

Other projects import `mlebench.registry`, `.grade`, `.grade_helpers`, `.data`, `.utils`, a few of `.metrics`, and
`.competitions.utils`; those modules re-export what stands here. Nothing is printed or written on import.
"""
