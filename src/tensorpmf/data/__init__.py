"""The paper's generator and the paper's data sets."""

from __future__ import annotations

from tensorpmf.data.dataset import Dataset as Dataset
from tensorpmf.data.dataset import load_dataset as load_dataset
from tensorpmf.data.synthetic import sample_table as sample_table
from tensorpmf.data.synthetic import synthetic_pmf as synthetic_pmf
