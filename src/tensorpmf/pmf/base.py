"""What every joint PMF answers, whatever it is made of."""

from __future__ import annotations

from abc import ABC

from tensorpmf.table.schema import Schema


class PMF(ABC):
    """A joint distribution over the columns of a schema."""

    schema: Schema
