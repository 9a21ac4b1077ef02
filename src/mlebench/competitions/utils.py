"""v1's `mlebench.competitions.utils`: helpers of prepare and grade files that were written for v1."""

from mlebench._v1.competition_utils import (
    df_to_one_hot,
    get_ids_from_tf_records,
    one_hot_dfs_to_log_loss_inputs,
    prepare_for_accuracy_metric,
    prepare_for_auroc_metric,
    rle_decode,
    rle_encode,
    rles_to_masks,
)

__all__ = [
    "df_to_one_hot",
    "get_ids_from_tf_records",
    "one_hot_dfs_to_log_loss_inputs",
    "prepare_for_accuracy_metric",
    "prepare_for_auroc_metric",
    "rle_decode",
    "rle_encode",
    "rles_to_masks",
]
