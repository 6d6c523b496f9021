"""The scikit-learn façade: estimators that wrap a fit and the questions it answers, and hold no mathematics."""

from __future__ import annotations

from tensorpmf.learn.classifier import PMFClassifier as PMFClassifier
from tensorpmf.learn.density import PMFDensity as PMFDensity
from tensorpmf.learn.imputer import Imputation as Imputation
from tensorpmf.learn.imputer import PMFImputer as PMFImputer
from tensorpmf.learn.recommender import PMFRecommender as PMFRecommender
