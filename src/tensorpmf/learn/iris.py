"""Fisher's irises, as scikit-learn carries them: real data for trying things out, without a download."""

from __future__ import annotations

from typing import Any


def iris() -> dict[str, list[Any]]:
    """Return 150 flowers as columns: four measurements in centimetres, and the species.

    Examples
    --------
    >>> {name: values[0] for name, values in iris().items()}
    {'sepal length': 5.1, 'sepal width': 3.5, 'petal length': 1.4, 'petal width': 0.2, 'species': 'setosa'}
    """
    from sklearn.datasets import load_iris

    flowers: Any = load_iris()
    names = [name.removesuffix(" (cm)") for name in flowers.feature_names]
    measured = dict(zip(names, flowers.data.T.tolist(), strict=True))
    return measured | {"species": flowers.target_names[flowers.target].tolist()}
