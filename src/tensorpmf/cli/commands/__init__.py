"""One file per command, found by its name: ``fit.py`` holds ``command``, which is ``tensorpmf fit``."""
