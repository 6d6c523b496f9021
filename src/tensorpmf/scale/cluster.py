"""The reducer for rows on a Dask cluster: workers keep blocks of them, the driver keeps the table and the state."""

from __future__ import annotations

import pickle
import secrets
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from tensorpmf._check import positive_number, whole_number
from tensorpmf.errors import ClusterError, MissingExtraError, SettingError
from tensorpmf.fit.contract import Stats
from tensorpmf.fit.reduce import LocalReduce, LocalReducer, Threads
from tensorpmf.kernels.rows import Rows
from tensorpmf.kernels.sorting import pieces

if TYPE_CHECKING:
    from tensorpmf.table.schema import Schema
    from tensorpmf.table.table import CategoricalTable

Name: TypeAlias = tuple[int, int]
"""What a block is called: its part, and its place in it."""

Node: TypeAlias = tuple[int, int]
"""A node of the tree in which blocks are added: the first block below it, and the first that is out again."""

MOST_TABLES = 4
"""A worker keeps blocks of so many tables at most; those of fits that have ended are dropped when they end."""

_tables: OrderedDict[str, dict[Name, Rows]] = OrderedDict()
"""What a worker keeps."""

_lock = Lock()

SENT_AT_ONCE = 1 << 26
"""Bytes of blocks after which a message is full; what a worker still lacks goes with the next one."""

A_MOMENT = 0.05
"""Seconds between two looks for the first worker."""

A_WHILE = 1.0
"""Seconds after which a driver that waits looks whether there is still something to wait for."""


@dataclass(frozen=True)
class DaskReducer:
    """Reduces over rows on the workers of a Dask cluster; same bits as in memory, for any number of workers.

    Every pass is one task a worker, which is sent the state and names of blocks. A worker that lacks some of them says
    so and is sent them, once. Nothing but time is lost with a worker: others, or the one that takes its place, are sent
    its blocks. The table stays with the driver. All processors should be of one kind, as they should be for the same
    bits anywhere. On two workers of one machine a pass took 15 to 20 ms besides its work.

    Parameters
    ----------
    client
        A ``distributed.Client``, not an asynchronous one.
    minibatch
        About how many rows make one part, for algorithms that read a part of the rows at a time; by default all.
    patience
        Seconds for which a cluster may be without workers, or out of reach, before the fit gives up.
    """

    client: Any
    minibatch: int | None = None
    patience: float = 60.0

    def __post_init__(self) -> None:
        try:
            import distributed
        except ImportError:
            raise MissingExtraError("Dask", "scale") from None
        if not isinstance(self.client, distributed.Client) or self.client.asynchronous:
            raise SettingError("DaskReducer", "client", "a distributed.Client, not an asynchronous one", self.client)
        if self.minibatch is not None:
            whole_number("DaskReducer", "minibatch", self.minibatch, at_least=1)
        positive_number("DaskReducer", "patience", self.patience)

    def bind(self, table: CategoricalTable | Any) -> DaskReduce:
        """Cut a table into fixed blocks; they are sent when they are first needed."""
        return DaskReduce(self.client, LocalReducer(1, self.minibatch).bind(table), self.patience)


class DaskReduce:
    """Fixed blocks of one table, and the workers that keep them."""

    def __init__(self, client: Any, local: LocalReduce, patience: float) -> None:
        self._client = client
        self._local = local
        self._patience = patience
        self._table = secrets.token_hex(8)
        self._workers: list[str] = []
        weakref.finalize(self, _end, client, self._table, self._workers).atexit = False

    @property
    def schema(self) -> Schema:
        """Columns and levels of the rows."""
        return self._local.schema

    @property
    def n_parts(self) -> int:
        """Into how many parts of about equal size the rows are divided."""
        return self._local.n_parts

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of these rows."""
        return self._local.notes

    def __call__(self, summarise: Callable[[Rows, Any], Stats], state: Any, part: int | None = None) -> Stats:
        """Return the sum of ``summarise(block, state)`` over all blocks, or those of one part."""
        import cloudpickle

        parts = range(self.n_parts) if part is None else [part]
        names = [(ix, place) for ix in parts for place in range(len(self._local.blocks(ix)))]
        what = cloudpickle.dumps((summarise, state))
        n_threads = self._meet_workers()
        runs = list(pieces(len(names), min(len(names), len(self._workers))))
        sums: dict[Node, Stats] = {}
        lacking: dict[int, list[Name]] = {ix: [] for ix in range(len(runs))}
        while lacking:
            futures = {ix: self._submit(ix, names, runs[ix], wanted, what, n_threads) for ix, wanted in lacking.items()}
            found = self._gathered(list(futures.values()))
            if found is None:
                n_threads = self._meet_workers()
                continue
            answers = dict(zip(futures, found, strict=True))
            lacking = {ix: answer for ix, answer in answers.items() if isinstance(answer, list)}
            for answer in answers.values():
                sums |= answer if isinstance(answer, dict) else {}
        return joined(sums, 0, len(names))

    def _submit(
        self, ix: int, names: Sequence[Name], run: tuple[int, int], wanted: Sequence[Name], what: bytes, n_threads: int
    ) -> Any:
        """Ask a worker, or whoever does it in its place, for the sums of a run of blocks; send those it lacks."""
        import dask

        sent: dict[Name, bytes] = {}
        for part, place in wanted:
            sent[part, place] = pickle.dumps(self._local.blocks(part)[place])
            if sum(map(len, sent.values())) >= SENT_AT_ONCE:
                break
        task = pickle.dumps((self._table, names[slice(*run)], run, len(names), n_threads, sent))
        where = self._workers[ix % len(self._workers)]
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):
            return self._client.submit(step, task, what, workers=[where], allow_other_workers=True, pure=False)

    def _meet_workers(self) -> int:
        """Bring the list of workers up to date, each at its old place; return how many threads each has at least."""
        alive = self._alive()
        asked = time.monotonic()
        while not alive:
            if time.monotonic() - asked > self._patience:
                raise ClusterError(f"it has been without workers for {self._patience:g} seconds")
            time.sleep(A_MOMENT)
            alive = self._alive()
        new = [worker for worker in sorted(alive) if worker not in self._workers]
        places = [worker if worker in alive else new.pop() if new else None for worker in self._workers]
        self._workers[:] = [worker for worker in (*places, *new) if worker is not None]
        return min(alive.values())

    def _alive(self) -> dict[str, int]:
        """Return how many threads each worker has."""
        if self._client.status in ("closing", "closed"):
            raise ClusterError("the client is closed")
        with _errors_explained():
            return dict(self._client.nthreads()) if self._client.status == "running" else {}

    def _gathered(self, futures: Sequence[Any]) -> list[Any] | None:
        """Wait for answers; None if a worker that was asked has died, so that they have to be asked for again.

        Dask asks another worker, but not where it was the last: what preferred that one then waits for ever.
        """
        import distributed

        while True:
            with _errors_explained(), suppress(distributed.TimeoutError):
                distributed.wait(futures, timeout=A_WHILE)
                return list(self._client.gather(futures))
            if not self._alive().keys() >= set(self._workers):
                return None


@contextmanager
def _errors_explained() -> Generator[None]:
    """Turn what Dask says about a lost cluster into one clear sentence."""
    import distributed

    try:
        yield
    except distributed.KilledWorker:
        raise ClusterError("several workers died of the same task; perhaps their memory is full") from None
    except distributed.CancelledError:
        raise ClusterError(
            "what it was asked has been cancelled; perhaps its scheduler or the client was closed"
        ) from None


def step(task: bytes, what: bytes) -> dict[Node, Any] | list[Name]:
    """Return, on a worker, the sums of the nodes that make a run of blocks, or the names of blocks it lacks.

    Parameters
    ----------
    task
        Which blocks of which table, and some of them that were lacking.
    what
        The function and the state.
    """
    table, names, run, n_blocks, n_threads, sent = pickle.loads(task)
    with _lock:
        kept = _tables.setdefault(table, {})
        _tables.move_to_end(table)
        while len(_tables) > MOST_TABLES:
            _tables.popitem(last=False)
    kept |= {name: pickle.loads(block) for name, block in sent.items()}
    lacking = [name for name in names if name not in kept]
    if lacking:
        return lacking
    summarise, state = pickle.loads(what)
    blocks = [kept[name] for name in names]
    threads = Threads(n_threads)
    return {
        (start, stop): threads.sum(blocks[start - run[0] : stop - run[0]], summarise, state)
        for start, stop in nodes(0, n_blocks, *run)
    }


def nodes(start: int, stop: int, first: int, last: int) -> Iterator[Node]:
    """Yield the largest nodes of a tree of blocks that together make a run of them.

    Parameters
    ----------
    start, stop
        The tree.
    first, last
        The first block of the run, and the first that is out again.
    """
    if first <= start and stop <= last:
        yield start, stop
    elif start < last and first < stop:
        middle = start + (stop - start) // 2
        yield from nodes(start, middle, first, last)
        yield from nodes(middle, stop, first, last)


def joined(sums: Mapping[Node, Stats], start: int, stop: int) -> Stats:
    """Return the sum of a tree of blocks, added up from nodes in the order in which all would have been.

    Parameters
    ----------
    sums
        The sums of some nodes, which together make the tree.
    start, stop
        The tree.
    """
    if (start, stop) in sums:
        return sums[start, stop]
    middle = start + (stop - start) // 2
    return joined(sums, start, middle) + joined(sums, middle, stop)


def forget(table: str) -> None:
    """Drop, on a worker, the blocks of a table.

    Parameters
    ----------
    table
        What the table is called.
    """
    with _lock:
        _tables.pop(table, None)


def _end(client: Any, table: str, workers: Sequence[str]) -> None:
    """Let workers forget a table; who is not there, or not asked, forgets it for other tables in time."""
    import distributed

    if client.status == "running":
        for worker in workers:
            asked = client.submit(forget, table, workers=[worker], allow_other_workers=True, pure=False)
            distributed.fire_and_forget(asked)
