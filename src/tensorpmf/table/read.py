from tensorpmf.table.schema import Schema
from tensorpmf.table.table import CategoricalTable
