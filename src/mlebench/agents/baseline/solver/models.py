"""The portfolio: which models are tried on which features, the most useful first."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .learn import Block, Estimator, Model, Problem

MANY_CLASSES = 20
MANY_COLUMNS = 150
ROWS_FOR_KERNELS = 6_000


def portfolio(problem: Problem, blocks: list[Block]) -> list[tuple[Block, Model]]:
    """Models by block; those of the different blocks take turns, so that each has its first model early."""
    queues = [[(block, model) for model in models_for(problem, block)] for block in blocks]
    turns = max(len(queue) for queue in queues)
    return [queue[turn] for turn in range(turns) for queue in queues if turn < len(queue)]


def models_for(problem: Problem, block: Block) -> list[Model]:
    """The models for one block of features; the constant comes last, for where there is nothing to learn."""
    return [*models_that_look(problem, block), CONSTANT]


def models_that_look(problem: Problem, block: Block) -> list[Model]:
    """The models that look at the features."""
    rows, columns = block.train.shape
    if sparse.issparse(block.train):
        return [LINEAR_WORDS, BAYES] if problem.kind == "classes" else [LINEAR_WORDS]
    few = problem.kind != "classes" or problem.width <= MANY_CLASSES
    if columns > MANY_COLUMNS:
        kernels = [KERNEL] if rows <= ROWS_FOR_KERNELS and problem.kind != "labels" else []
        return [LINEAR_COMPONENTS, *kernels, FOREST, *([BOOSTING_COMPONENTS] if few else [])]
    if not few:
        return [LINEAR, FOREST]
    smooth = [BOOSTING_HALF, BOOSTING_SLOW] if rows <= 200_000 else []
    return [BOOSTING, LINEAR, FOREST, *smooth, *([KERNEL] if rows <= ROWS_FOR_KERNELS else [])]


def _constant(problem: Problem, block: Block) -> Estimator:
    from sklearn.dummy import DummyClassifier, DummyRegressor

    del block
    return DummyRegressor() if problem.kind == "numbers" else DummyClassifier()


# --- trees


def _boosting(problem: Problem, categories: tuple[int, ...], **settings: Any) -> Estimator:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    settings["categorical_features"] = categories
    if problem.kind == "numbers":
        return HistGradientBoostingRegressor(random_state=problem.seed, **settings)
    if problem.kind == "classes" and problem.width > 2:
        settings["max_iter"] = max(40, settings["max_iter"] // 3)
        settings["learning_rate"] *= 1.6
    return HistGradientBoostingClassifier(random_state=problem.seed, **settings)


def _boosting_usual(problem: Problem, block: Block) -> Estimator:
    rows = block.train.shape[0]
    leaf = int(np.clip(rows // 50, 3, 20))
    return _boosting(
        problem,
        block.categories,
        learning_rate=0.06 if rows < 50_000 else 0.1,
        max_iter=150 if rows < 5_000 else 300,
        max_leaf_nodes=12 if rows < 20_000 else 63,
        min_samples_leaf=leaf,
        l2_regularization=1.0,
        early_stopping=rows > 20_000,
    )


def _boosting_half(problem: Problem, block: Block) -> Estimator:
    """A second draw whose splits see half of the columns, codes taken as numbers."""
    rows = block.train.shape[0]
    settings = {"learning_rate": 0.05, "max_iter": 180 if rows < 5_000 else 320, "max_leaf_nodes": 12}
    leaf = int(np.clip(rows // 50, 3, 20))
    return _boosting(problem, (), min_samples_leaf=leaf, max_features=0.5, early_stopping=False, **settings)


def _boosting_slow(problem: Problem, block: Block) -> Estimator:
    """Many small trees."""
    rows = block.train.shape[0]
    settings = {"learning_rate": 0.04, "max_iter": 300 if rows < 5_000 else 600, "max_leaf_nodes": 6}
    leaf = int(np.clip(rows // 50, 3, 20))
    return _boosting(problem, block.categories, min_samples_leaf=leaf, early_stopping=False, **settings)


def _boosting_quick(problem: Problem, block: Block) -> Estimator:
    """Few, small trees, for many rows and columns."""
    settings = {"learning_rate": 0.15, "max_iter": 60, "max_leaf_nodes": 16, "min_samples_leaf": 20}
    return _boosting(problem, block.categories, early_stopping=False, **settings)


def _boosting_components(problem: Problem, block: Block) -> Estimator:
    from sklearn.pipeline import make_pipeline

    steps = _components(block, 40)
    return make_pipeline(*steps, _boosting(problem, (), learning_rate=0.08, max_iter=80, max_leaf_nodes=8))


def _forest(problem: Problem, block: Block) -> Estimator:
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    rows = block.train.shape[0]
    settings: dict[str, Any] = {
        "n_estimators": 200 if 1_000 < rows < 20_000 else 100,
        "min_samples_leaf": 1 if rows < 2_000 or problem.width > MANY_CLASSES else 3,
        "max_features": "sqrt" if problem.kind != "numbers" else 0.5,
        "n_jobs": -1 if rows > 20_000 else 1,
        "random_state": problem.seed,
    }
    estimator = (ExtraTreesRegressor if problem.kind == "numbers" else ExtraTreesClassifier)(**settings)
    return make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), estimator)


# --- linear models and kernels


def _components(block: Block, count: int) -> tuple[Estimator, ...]:
    from sklearn.decomposition import PCA
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import StandardScaler

    rows, columns = block.train.shape
    count = max(1, min(count, columns, rows // 2))
    return SimpleImputer(keep_empty_features=True), StandardScaler(), PCA(count, random_state=0)


def _last_linear(problem: Problem, strength: float) -> Estimator:
    from sklearn.linear_model import LogisticRegression, RidgeCV

    if problem.kind == "numbers":
        return RidgeCV(alphas=np.logspace(-2, 4, 13))
    return LogisticRegression(C=strength, max_iter=300)


def _linear(problem: Problem, block: Block) -> Estimator:
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    class_codes = list(block.categories)
    width = block.train.shape[1] + _key_columns(problem, block)
    numbers = [column for column in range(width) if column not in set(class_codes)]
    squeeze = FunctionTransformer(lambda x: np.sign(x) * np.log1p(np.abs(x)))
    scale = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), squeeze, StandardScaler())
    codes = OneHotEncoder(handle_unknown="ignore", min_frequency=5)
    encode = ColumnTransformer([("numbers", scale, numbers), ("codes", codes, class_codes)])
    return make_pipeline(encode, _last_linear(problem, 0.3 if problem.width <= MANY_CLASSES else 10.0))


def _key_columns(problem: Problem, block: Block) -> int:
    """How many columns the target's means of the keys add."""
    if block.train_keys is None:
        return 0
    return block.train_keys.shape[1] * (1 if problem.kind == "classes" and problem.width == 2 else problem.width)


def _linear_components(problem: Problem, block: Block) -> Estimator:
    from sklearn.pipeline import make_pipeline

    return make_pipeline(*_components(block, 150), _last_linear(problem, 0.01 if problem.width <= 10 else 1.0))


def _kernel(problem: Problem, block: Block) -> Estimator:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC, SVR

    if problem.kind == "numbers":
        return make_pipeline(*_components(block, 60), _scaled(SVR(C=1.0, epsilon=0.05)))
    return make_pipeline(*_components(block, 60), CalibratedClassifierCV(SVC(C=3.0), cv=3, ensemble=False))  # pyright: ignore[reportArgumentType]


def _scaled(estimator: Estimator) -> Estimator:
    """A regressor that sees its target with mean 0 and deviation 1."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    return TransformedTargetRegressor(estimator, transformer=StandardScaler())


def _linear_words(problem: Problem, block: Block) -> Estimator:
    from sklearn.linear_model import LogisticRegression, Ridge

    del block
    if problem.kind == "numbers":
        return Ridge(alpha=1.0)
    return LogisticRegression(C=8.0, max_iter=200)


def _bayes(problem: Problem, block: Block) -> Estimator:
    from sklearn.naive_bayes import MultinomialNB

    del problem, block
    return MultinomialNB(alpha=0.02)


CONSTANT = Model("constant", _constant, several_columns=True)
BOOSTING = Model("boosting", _boosting_usual)
BOOSTING_QUICK = Model("quick boosting", _boosting_quick)
BOOSTING_SLOW = Model("slow boosting", _boosting_slow)
BOOSTING_HALF = Model("boosting of half the columns", _boosting_half)
BOOSTING_COMPONENTS = Model("boosting of components", _boosting_components)
FOREST = Model("forest", _forest, several_columns=True, several_labels=True)
LINEAR = Model("linear", _linear, several_columns=True)
LINEAR_COMPONENTS = Model("linear on components", _linear_components, several_columns=True)
KERNEL = Model("kernel", _kernel)
LINEAR_WORDS = Model("linear on words", _linear_words, several_columns=True)
BAYES = Model("naive Bayes", _bayes)
