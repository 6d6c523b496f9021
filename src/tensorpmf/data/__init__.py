"""The paper's generator; checksummed dataset fetchers."""

from __future__ import annotations

from tensorpmf.data.synthetic import sample_table as sample_table
from tensorpmf.data.synthetic import synthetic_pmf as synthetic_pmf
