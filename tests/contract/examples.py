"""Settings of every algorithm with which it is quick."""

from __future__ import annotations

from typing import Any

import tensorpmf as tp
from tensorpmf.fit.contract import Algorithm

EXAMPLES: dict[str, list[Algorithm[Any, Any]]] = {
    "CTF": [
        tp.CTF(rank=2),
        tp.CTF(rank=2, order=2),
        tp.CTF(rank=2, order="full"),
        tp.CTF(rank=2, method="mirror"),
        tp.CTF(rank=2, loss="frobenius"),
    ],
    "EM": [tp.EM(rank=1), tp.EM(rank=3)],
    "LPS": [tp.LPS(rank=2), tp.LPS(rank=3, purification=3, cores="complex"), tp.LPS(rank=1, purification=1)],
    "SQUAREM": [
        tp.SQUAREM(tp.EM(rank=3)),
        tp.SQUAREM(tp.EM(rank=3), scheme="s3", coordinates="simplex"),
        tp.SQUAREM(tp.CTF(rank=2)),
        tp.SQUAREM(tp.VB(max_rank=5)),
    ],
    "VB": [tp.VB(max_rank=5), tp.VB(max_rank=5, accelerate=False)],
}
