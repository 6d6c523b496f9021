"""Factors of Arrow columns.

Dictionaries are where nulls get lost: indices may be unsigned, null may be an index or an entry of the dictionary,
entries may repeat, and every chunk may have a dictionary of its own. So nulls become ``-1`` only after the indices have
a sign, and the chunks' labels are matched by what they are, not by where they stand.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
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
        chunks = chunked.dictionary_encode().chunks  # which all have the same dictionary
        labels = _labels(chunks[0].dictionary) if chunks else objects([])
        return Factor.of(labels, _joined([_positions(chunk) for chunk in chunks]))
    labels, positions = _united([(_objects(chunk.dictionary), _positions(chunk)) for chunk in chunked.chunks])
    if declared:
        return Factor.of(labels, positions, declared=True, ordered=bool(kind.ordered))
    return Factor.of(labels, positions).observed()


def factor_of_texts(column: Any) -> Factor:
    """Return the factor of a chunked array of dictionaries of texts; blanks around a text do not count.

    Parameters
    ----------
    column
        The array.
    """
    stripped = (([text.strip() for text in chunk.dictionary.to_pylist()], _positions(chunk)) for chunk in column.chunks)
    labels, positions = _united(stripped)
    return Factor(labels, positions, is_text=True)


def declares(field: Any) -> bool:
    """Whether the dictionary of a column of an Arrow table declares levels.

    Parameters
    ----------
    field
        The column's entry in the Arrow schema; its metadata tell.
    """
    keys: list[bytes] = list(field.metadata or ())
    return not any(key.startswith(_GREW) for key in keys)


def _united(
    parts: Iterable[tuple[Iterable[Hashable], NDArray[np.int32]]],
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the distinct labels of several parts, and where they occur in all parts one after the other."""
    position_of: dict[Hashable, int] = {}
    joined: list[NDArray[np.int32]] = []
    for labels, positions in parts:
        moved = [position_of.setdefault(label, len(position_of)) for label in labels]
        joined.append(np.array([*moved, -1], dtype=np.int32)[positions])
    return objects(list(position_of)), _joined(joined)


def _joined(parts: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)


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


def _labels(dictionary: Any) -> NDArray[Any]:
    from pyarrow import types

    if (types.is_integer(dictionary.type) or types.is_floating(dictionary.type)) and not dictionary.null_count:
        numbers: NDArray[Any] = np.from_dlpack(dictionary)
        return numbers
    return _objects(dictionary)


def _objects(dictionary: Any) -> NDArray[Any]:
    import pyarrow as pa
    from pyarrow import types

    kind = dictionary.type
    if types.is_timestamp(kind) or types.is_duration(kind):
        python_type = pa.timestamp("us", kind.tz) if types.is_timestamp(kind) else pa.duration("us")
        with suppress(pa.ArrowInvalid):  # finer than what Python's own types hold
            dictionary = dictionary.cast(python_type)
    return objects(dictionary.to_pylist())
