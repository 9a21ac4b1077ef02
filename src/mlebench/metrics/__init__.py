"""Vectorised metrics by family; nothing here imports anything else of ours.

Every function takes `(y_true, y_pred)` in this order and options by keyword. Names that end in `_score` are
to be maximised; `_error`, `_loss` and `_distance` minimised. `METRICS` maps the names that a competition.toml
uses to the functions; a stranger's is named by a dotted path `module:function`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

METRICS = {
    "accuracy": "classification:accuracy_score",
    "angular_error": "angular:mean_angular_error",
    "binary_log_loss": "log_loss:binary_log_loss",
    "exact_match": "text:exact_match_score",
    "global_dice": "segmentation:global_dice_score",
    "kendall_tau": "ranking:kendall_tau_score",
    "label_ranking_average_precision": "ranking:label_ranking_average_precision_score",
    "laplace_log_likelihood": "regression:laplace_log_likelihood_score",
    "kl_divergence": "log_loss:kl_divergence_loss",
    "macro_f1": "f1:macro_f1_score",
    "matthews_correlation": "classification:matthews_correlation_score",
    "mean_absolute_error": "regression:mean_absolute_error",
    "mean_average_precision_at_k": "ranking:mean_average_precision_at_k_score",
    "mean_average_precision": "detection:mean_average_precision_score",
    "mean_columnwise_rms_error": "regression:mean_columnwise_rms_error",
    "mean_columnwise_rms_log_error": "regression:mean_columnwise_rms_log_error",
    "mean_columnwise_roc_auc": "classification:mean_columnwise_roc_auc_score",
    "mean_columnwise_spearman": "correlation:mean_columnwise_spearman_score",
    "mean_dice": "segmentation:mean_dice_score",
    "mean_f1_over_labels": "f1:mean_f1_over_labels_score",
    "mean_levenshtein_distance": "text:mean_levenshtein_distance",
    "mean_precision_over_iou_thresholds": "segmentation:mean_precision_score",
    "mean_word_jaccard": "text:mean_word_jaccard_score",
    "micro_f1": "classification:micro_f1_score",
    "micro_f1_over_labels": "f1:micro_f1_over_labels_score",
    "multiclass_log_loss": "classification:multiclass_log_loss",
    "pearson_correlation": "correlation:pearson_correlation_score",
    "probabilistic_f1": "classification:probabilistic_f1_score",
    "quadratic_weighted_kappa": "classification:quadratic_weighted_kappa_score",
    "roc_auc": "classification:roc_auc_score",
    "root_mean_squared_error": "regression:root_mean_squared_error",
    "top_1_error": "classification:top_1_error",
    "weighted_multilabel_log_loss": "log_loss:weighted_multilabel_log_loss",
    "weighted_roc_auc": "roc:weighted_roc_auc_score",
}


def find(name: str) -> Callable[..., float]:
    """The metric with this name from `METRICS`, or the one at a dotted path `module:function`.

    >>> find("accuracy").__name__
    'accuracy_score'
    """
    path = METRICS.get(name)
    module, separator, function = (path or name).partition(":")
    if not separator:
        raise ValueError(f"no metric {name!r}; there are {', '.join(sorted(METRICS))}")
    return getattr(importlib.import_module(f"mlebench.metrics.{module}" if path else module), function)


# Names that graders written for v1 import from here.
_OF_V1 = ("average_precision_at_k", "dice_coefficient", "mean_average_precision_at_k")


def __getattr__(name: str) -> Callable[..., float]:
    """Import the metrics of v1's API on first use."""
    if name in _OF_V1:
        return getattr(importlib.import_module("mlebench._v1.metrics"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
