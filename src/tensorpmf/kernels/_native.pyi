"""The compiled kernels; what each takes is said by the functions of this room that call it."""

# pyright: reportIncompleteStub=false

from typing import Any

def __getattr__(name: str) -> Any: ...
