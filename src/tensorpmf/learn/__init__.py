"""scikit-learn: estimators around the core, thin; and its example data."""
