"""The cluster as a fit uses it: start tasks, gather small results, notice when the cluster is lost.

All work is plain tasks that depend on other tasks, so that the scheduler can repeat whatever was lost with
a worker.
"""

from __future__ import annotations

import threading
import time
import uuid
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from importlib import import_module
from importlib.metadata import version
from types import TracebackType
from typing import Any, Self, TypeVar

from distributed import Client, Future, KilledWorker, get_client
from distributed.comm.core import CommClosedError

T = TypeVar("T")

POLL = 0.5  # seconds between checks of the cluster while waiting
PING = 5.0  # seconds between questions to a scheduler that sends nothing
# Tasks are cancelled again after so many seconds: a scheduler does not yet know those still on their way.
CANCEL_PAUSES = (0.0, 0.2, 0.5)
PATIENCE = 15.0  # seconds without an answer, or without any worker, until the cluster counts as lost


class Cluster:
    """A client that remembers its futures, to cancel them if anything goes wrong."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._futures: weakref.WeakSet[Future[Any]] = weakref.WeakSet()
        self._last_answer = time.monotonic()
        self._without_workers_since: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        futures = list(self._futures)
        for pause in CANCEL_PAUSES if error is not None else ():
            time.sleep(pause)
            if self.client.status == "running":
                self.client.cancel(futures, force=True)

    def submit(self, function: Callable[..., T], *arguments: object) -> Future[T]:
        """Start a task."""
        key = f"{function.__name__}-{uuid.uuid4().hex}"
        future = self.client.submit(function, *arguments, key=key, pure=False)
        self._futures.add(future)
        return future

    def remember(self, futures: Sequence[Future[Any]]) -> None:
        """Cancel these too if anything goes wrong."""
        self._futures.update(futures)

    def each(self, function: Callable[..., T], first: Sequence[object], *rest: object) -> list[Future[T]]:
        """Start a task for each of several first arguments, with the same further arguments."""
        return [self.submit(function, one, *rest) for one in first]

    def gather(self, futures: Sequence[Future[Any]]) -> list[Any]:
        """Wait for small results."""
        bundle, finished = self.submit(_collect, list(futures)), threading.Event()
        bundle.add_done_callback(lambda _: finished.set())
        while True:
            if finished.wait(POLL):
                if bundle.status == "cancelled":  # asking for the result might find the loop closed
                    raise self._connection_error()
                try:
                    results: list[Any] = bundle.result(timeout=PATIENCE)
                    return results
                except TimeoutError:  # lost with a worker in the meantime, and computed again
                    pass
                except KilledWorker as error:
                    raise RuntimeError(
                        "several workers died while running the same task, probably out of memory: "
                        f"raise n_partitions, lower max_neighbors or give workers more memory ({error})"
                    ) from error
                except (CancelledError, CommClosedError) as error:
                    raise self._connection_error() from error
            self._check_alive()

    def _check_alive(self) -> None:
        """Raise an error if the scheduler or all workers are gone."""
        now = time.monotonic()
        if self.client.status == "running" and now - self._last_answer < PING:
            return
        try:
            if self.client.status == "closed":
                raise self._connection_error()
            workers = self.client.sync(self.client.scheduler.ncores, callback_timeout=PATIENCE / 2)
        except (TimeoutError, CommClosedError, OSError) as error:
            if now - self._last_answer > PATIENCE:
                raise self._connection_error() from error
            return
        self._last_answer = now
        if workers:
            self._without_workers_since = None
        elif self._without_workers_since is None:
            self._without_workers_since = now
        elif now - self._without_workers_since > PATIENCE:
            raise RuntimeError(
                f"the Dask cluster at {self._address} has had no worker for {PATIENCE:g} s: start workers "
                "and try again"
            )

    def _connection_error(self) -> ConnectionError:
        return ConnectionError(
            f"the Dask scheduler at {self._address} is gone or was restarted, and its results are lost: "
            "start a cluster and try again"
        )

    @property
    def _address(self) -> str:
        return str(getattr(self.client.scheduler, "address", None) or self.client._start_arg)


def connect(client: Client | str | None) -> Cluster:
    """Connect to the cluster of a client, of a scheduler's address, or of the current client for None.

    All workers are checked.
    """
    if isinstance(client, str):
        found = Client(client)
    elif client is not None:
        found = client
    else:
        try:
            found = get_client()
        except ValueError:
            raise ValueError(
                "there is no Dask client: start one with dask.distributed.Client(), or set client= to a "
                "client or the address of a scheduler"
            ) from None
    if found.status != "running":
        raise ConnectionError(f"the Dask client {found!r} is not connected: create a new one")
    _check_workers(found)
    return Cluster(found)


def _check_workers(client: Client) -> None:
    """Raise an error unless all workers have this version of the package."""

    def installed() -> str:  # nested, so that it is sent as code: a worker may lack the package
        try:
            return str(import_module("localegop").__version__)
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    client.wait_for_workers(1, timeout=PATIENCE)
    ours = version("localegop")
    for address, found in client.run(installed).items():
        if found != ours:
            raise RuntimeError(
                f"worker {address} cannot use localegop {ours} ({found}): install the "
                "same version of localegop, with its extra 'dask', on all workers"
            )


def _collect(results: list[T]) -> list[T]:
    return results
