from typing import Any

from numpy.typing import ArrayLike

def accuracy_score(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Any: ...
