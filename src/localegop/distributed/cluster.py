"""The cluster as the fit sees it: tasks go out, small results come back, and a lost cluster is noticed.

All work is plain tasks that depend on other tasks, so that the scheduler can repeat whatever a lost worker
held.
"""

from __future__ import annotations

import threading
import time
import uuid
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Any, Self

from distributed import Client, Future, KilledWorker, get_client
from distributed.comm.core import CommClosedError

import localegop
from localegop._progress import Progress

POLL = 0.5  # seconds between looks at the cluster while waiting
PING = 5.0  # seconds between questions to a scheduler from which nothing comes
# Cancelled again after so many seconds: a scheduler knows nothing of tasks that are still on their way.
CANCEL_AGAIN = (0.0, 0.2, 0.5)
PATIENCE = 15.0  # seconds without an answer, or without any worker, after which the cluster is given up


class Cluster:
    """A client that remembers its futures, to cancel them if anything goes wrong."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._futures: weakref.WeakSet[Future[Any]] = weakref.WeakSet()
        self._heard = time.monotonic()
        self._idle_since: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        futures = list(self._futures)
        for pause in CANCEL_AGAIN if error is not None else ():
            time.sleep(pause)
            if self.client.status == "running":
                self.client.cancel(futures, force=True)

    def submit(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Future[Any]:
        """Start a task."""
        key = f"{function.__name__}-{uuid.uuid4().hex}"
        future = self.client.submit(function, *arguments, key=key, pure=False, **options)
        self._futures.add(future)
        return future

    def remember(self, futures: Sequence[Future[Any]]) -> None:
        """Cancel these too if anything goes wrong."""
        self._futures.update(futures)

    def each(self, function: Callable[..., Any], first: Sequence[Any], *rest: Any) -> list[Future[Any]]:
        """Start a task for each of several things, with the same further arguments."""
        return [self.submit(function, one, *rest) for one in first]

    def gather(
        self,
        futures: Sequence[Future[Any]],
        progress: Progress | None = None,
        amounts: Sequence[float] = (),
        title: str = "",
    ) -> list[Any]:
        """Wait for small results; each one that arrives advances the progress by its amount."""
        bundle, finished = self.submit(_collected, list(futures)), threading.Event()
        bundle.add_done_callback(lambda _: finished.set())
        waiting = dict(enumerate(futures)) if progress is not None else {}
        while True:
            if finished.wait(POLL):
                if bundle.status == "cancelled":  # asking for the result might find the loop closed
                    raise self._lost()
                try:
                    results: list[Any] = bundle.result(timeout=PATIENCE)
                    break
                except TimeoutError:  # lost with a worker in the meantime, and computed again
                    pass
                except KilledWorker as error:
                    raise RuntimeError(
                        "a task of the fit took several workers down with it, probably for want of memory: "
                        f"raise n_partitions, lower max_neighbors or give workers more memory ({error})"
                    ) from error
                except (CancelledError, CommClosedError) as error:
                    raise self._lost() from error
            self._look()
            self._count(waiting, progress, amounts, title, len(futures))
        self._count(waiting, progress, amounts, title, len(futures), done=True)
        return results

    def _count(
        self,
        waiting: dict[int, Future[Any]],
        progress: Progress | None,
        amounts: Sequence[float],
        title: str,
        count: int,
        done: bool = False,
    ) -> None:
        if progress is None:
            return
        for i in [i for i, future in waiting.items() if done or future.status == "finished"]:
            del waiting[i]
            progress.title = f"{title}, partition {count - len(waiting)} of {count}"
            progress.advance(amounts[i])

    def _look(self) -> None:
        """Raise an error if nobody is there any more."""
        now = time.monotonic()
        if self.client.status == "running" and now - self._heard < PING:
            return
        try:
            if self.client.status == "closed":
                raise self._lost()
            workers = self.client.sync(self.client.scheduler.ncores, callback_timeout=PATIENCE / 2)
        except (TimeoutError, CommClosedError, OSError) as error:
            if now - self._heard > PATIENCE:
                raise self._lost() from error
            return
        self._heard = now
        if workers:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now
        elif now - self._idle_since > PATIENCE:
            raise RuntimeError(
                f"the Dask cluster at {self._address} has had no worker for {PATIENCE:g} s: start workers "
                "and try again"
            )

    def _lost(self) -> ConnectionError:
        return ConnectionError(
            f"the Dask scheduler at {self._address} is gone or was restarted, and with it whatever it had "
            "computed: start a cluster and try again"
        )

    @property
    def _address(self) -> str:
        return str(getattr(self.client.scheduler, "address", None) or self.client._start_arg)


def connected(client: Any) -> Cluster:
    """Cluster of a client, of a scheduler's address, or of the client at hand, with workers checked."""
    if isinstance(client, str):
        client = Client(client)
    if client is None:
        try:
            client = get_client()
        except ValueError:
            raise ValueError(
                "there is no Dask client: start one with dask.distributed.Client(), or give client= a "
                "client or the address of a scheduler"
            ) from None
    if client.status != "running":
        raise ConnectionError(f"the Dask client {client!r} is not connected: make a new one")
    _check_workers(client)
    return Cluster(client)


def _check_workers(client: Client) -> None:
    """All workers must have this version of the package."""

    def has() -> str:  # nested, so that it travels as code: the package may not be there
        try:
            import localegop

            return str(localegop.__version__)
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    client.wait_for_workers(1, timeout=PATIENCE)
    for address, found in client.run(has).items():
        if found != localegop.__version__:
            raise RuntimeError(
                f"worker {address} cannot use localegop {localegop.__version__} ({found}): install the "
                "same version of localegop, with its extra 'dask', on all workers"
            )


def _collected(results: list[Any]) -> list[Any]:
    return results
