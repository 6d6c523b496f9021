from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensorpmf.cli.commands.reproduce import found_harness


@pytest.fixture(scope="session")
def harness() -> Any:
    """The module that runs experiments, as the command line finds it."""
    return found_harness(Path(__file__))
