"""Rows that are not in this process's memory: in a file, on a cluster."""

from __future__ import annotations

from tensorpmf.scale.cluster import DaskReducer as DaskReducer
from tensorpmf.scale.file import FileReducer as FileReducer
