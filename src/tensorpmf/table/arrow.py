"""Factors of Arrow columns.

Dictionaries are where nulls get lost: indices may be unsigned, null may be an index or an entry of the dictionary,
entries may repeat, and every chunk may have a dictionary of its own. So nulls become ``-1`` only after the indices have
a sign, and the chunks' labels are matched by what they are, not by where they stand.
"""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorpmf.errors import UnhashableLevelError
from tensorpmf.table.factor import Factor, objects

_GREW = b"_PL_CATEGORICAL"
"""Polars marks so a dictionary that grew with the data: the order of its labels means nothing."""


def factor_of_arrow(name: str, column: Any, *, declared: bool = True) -> Factor:
    """Return the factor of an Arrow array or chunked array.

    Parameters
    ----------
    name
        The column's name, for errors.
    column
        The array.
    declared
        False when the dictionary of a dictionary column declares nothing.
    """
    import pyarrow as pa
    from pyarrow import types

    chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    kind = chunked.type
    if isinstance(kind, pa.BaseExtensionType) or types.is_run_end_encoded(kind):
        return Factor.of_objects(name, chunked.to_pylist())
    if types.is_nested(kind):
        values: list[Any] = chunked.to_pylist()
        raise UnhashableLevelError(name, next((value for value in values if value), None))
    if types.is_null(kind):
        return Factor(objects([]), np.full(len(chunked), -1, dtype=np.int32))
    if not types.is_dictionary(kind):
        return Factor.of(*_labels_and_positions(chunked.dictionary_encode().chunks))
    labels, positions = _labels_and_positions(chunked.chunks, as_objects=declared)
    return Factor.of(labels, positions, declared=declared, ordered=declared and bool(kind.ordered))


def declares(field: Any) -> bool:
    """Whether the dictionary of a column of an Arrow table declares levels.

    Parameters
    ----------
    field
        The column's entry in the Arrow schema; its metadata tell.
    """
    keys: list[bytes] = list(field.metadata or ())
    return not any(key.startswith(_GREW) for key in keys)


def _labels_and_positions(chunks: list[Any], *, as_objects: bool = False) -> tuple[NDArray[Any], NDArray[np.int32]]:
    if not chunks:
        return objects([]), np.empty(0, dtype=np.int32)
    first = chunks[0].dictionary
    if all(chunk.dictionary.equals(first) for chunk in chunks[1:]):
        return _labels(first, as_objects=as_objects), np.concatenate([_positions(chunk) for chunk in chunks])
    position_of: dict[Hashable, int] = {}
    parts: list[NDArray[np.int32]] = []
    for chunk in chunks:
        labels = _labels(chunk.dictionary, as_objects=True)
        moved = np.array([position_of.setdefault(label, len(position_of)) for label in labels] + [-1], dtype=np.int32)
        parts.append(moved[_positions(chunk)])
    return objects(list(position_of)), np.concatenate(parts)


def _positions(chunk: Any) -> NDArray[np.int32]:
    """Return a chunk's indices, null as ``-1``; Arrow's own conversions would import pandas, which takes a while."""
    import pyarrow as pa

    indices = chunk.indices.cast(pa.int32())
    here = slice(indices.offset, indices.offset + len(indices))
    validity, data = indices.buffers()
    positions: NDArray[np.int32] = np.frombuffer(data, dtype=np.int32)[here]
    if not indices.null_count:
        return positions
    is_valid = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), bitorder="little")[here]
    return np.where(is_valid, positions, np.int32(-1))


def _labels(dictionary: Any, *, as_objects: bool) -> NDArray[Any]:
    import pyarrow as pa
    from pyarrow import types

    kind = dictionary.type
    is_number = types.is_integer(kind) or types.is_floating(kind)
    if is_number and not as_objects and not dictionary.null_count:
        numbers: NDArray[Any] = np.from_dlpack(dictionary)
        return numbers
    if types.is_timestamp(kind) or types.is_duration(kind):
        python_type = pa.timestamp("us", kind.tz) if types.is_timestamp(kind) else pa.duration("us")
        with suppress(pa.ArrowInvalid):  # finer than what Python's own types hold
            dictionary = dictionary.cast(python_type)
    return objects(dictionary.to_pylist())
