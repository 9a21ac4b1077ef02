"""v1's `mlebench.data`: prepare data sets, and check what is there."""

from mlebench._v1.data import (
    download_and_prepare_dataset,
    download_dataset,
    ensure_leaderboard_exists,
    generate_checksums,
    get_checksum,
    get_leaderboard,
    is_dataset_prepared,
)

__all__ = [
    "download_and_prepare_dataset",
    "download_dataset",
    "ensure_leaderboard_exists",
    "generate_checksums",
    "get_checksum",
    "get_leaderboard",
    "is_dataset_prepared",
]
