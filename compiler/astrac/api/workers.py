"""Processes that work for this one: an executor whose workers never run the caller's main program.

A worker is `python` with this module, and speaks in pickles over its standard streams. It ends when its input does, so
none outlives its master. A script needs no guard around its main part, and one killed worker breaks nothing but itself.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock, local
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

TRIES = 2
"""Of a call whose process dies."""


class Killed(Exception):  # noqa: N818 - not an error of the program
    """The process that made a call died, and so did the next one."""


class Processes(Executor):
    """Runs calls in so many processes of this machine, which are started as they are needed.

    Attributes:
        window: how many calls keep all of them busy.
    """

    def __init__(self, jobs: int) -> None:
        self.window = 2 * jobs
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="astrac")
        self._own = local()
        self._all: list[subprocess.Popen[bytes]] = []
        self._lock = Lock()
        self._ends = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Has a call made; everything about it must be picklable."""
        return self._threads.submit(self._ask, pickle.dumps((fn, args, kwargs)))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Lets the workers end, after what is running."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        with self._lock:
            self._ends = True
            for process in self._all:
                _end(process)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> bool | None:
        """Waits for what is running, or, after an error or an interrupt, for nothing."""
        if kind is not None:
            with self._lock:
                self._ends = True
                for process in self._all:
                    process.kill()
        self.shutdown(cancel_futures=True)
        return None

    def _ask(self, call: bytes) -> Any:
        code = 0
        for _ in range(TRIES):
            process = self._worker()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                _send(process.stdin, call)
                answer = _receive(process.stdout)
            except OSError:
                answer = None
            if answer is not None:
                value, error = pickle.loads(answer)  # noqa: S301 - of our own process
                if error is not None:
                    raise error
                return value
            code = process.wait()
            self._own.process = None
            if self._ends:
                break
        raise Killed(_why(code))

    def _worker(self) -> subprocess.Popen[bytes]:
        """The process of this thread."""
        process: subprocess.Popen[bytes] | None = getattr(self._own, "process", None)
        if process is None:
            with self._lock:
                if self._ends:
                    raise Killed(_why(0))
                process = _start()
                self._all.append(process)
            self._own.process = process
        return process


def _start() -> subprocess.Popen[bytes]:
    code = "from astrac.api.workers import serve; serve()"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)  # noqa: S603


def _end(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):  # what it could not read any more
                stream.close()
    process.wait()


def _why(code: int) -> str:
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"status {code}"
    return f"the process that computed it died ({name})"


# -- what a worker does


def serve() -> None:
    """Answers calls until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the master decides what an interrupt ends
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anybody prints is no answer
    while (call := _receive(calls)) is not None:
        try:
            fn, args, kwargs = pickle.loads(call)  # noqa: S301 - of our own master
            answer: tuple[Any, Exception | None] = fn(*args, **kwargs), None
        except Exception as error:  # noqa: BLE001 - it is the master's
            answer = None, error
        try:
            _send(answers, pickle.dumps(answer))
        except BrokenPipeError:
            return


def _send(stream: BinaryIO | Any, data: bytes) -> None:
    stream.write(len(data).to_bytes(8) + data)
    stream.flush()


def _receive(stream: BinaryIO | Any) -> bytes | None:
    """The next message; None at the end."""
    head = stream.read(8)
    data = stream.read(int.from_bytes(head)) if len(head) == 8 else b""
    return data if len(head) == 8 and len(data) == int.from_bytes(head) else None
