"""Handle: libpace's session, freed after its last use and never while a call on it runs."""

import os
import threading
from typing import Any

from pace import _abi
from pace._library import call, library
from pace.errors import Closed, PaceError


class Handle:
    """The pointer to a session. Threads: any."""

    def __init__(self, pointer: int):
        self._pointer = pointer
        self._pid = os.getpid()
        # A finalizer may come at any moment, also of the thread that has the lock.
        self._lock = threading.RLock()
        self._users = 0
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def is_ours(self) -> bool:
        """Whether this is the process that opened the session, and not a forked child of it."""
        return os.getpid() == self._pid

    def call(self, function: Any, *arguments: Any) -> None:
        """Calls a function of libpace that takes the session first and a pace_error last. Raises what it fails with."""
        self.enter()
        try:
            call(function, self._pointer, *arguments)
        finally:
            self.leave()

    def status(self, function: Any, *arguments: Any) -> int:
        """As call(), for a function whose status the caller looks at; the pace_error is among the
        arguments."""
        self.enter()
        try:
            return int(function(self._pointer, *arguments))
        finally:
            self.leave()

    def enter(self) -> None:
        if not self.is_ours:
            return  # The library refuses by itself; a thread that the child lacks may hold the lock for ever.
        with self._lock:
            if self._is_closed:
                raise Closed("session: it has been closed; open another one", "session")
            self._users += 1

    def leave(self) -> None:
        if not self.is_ours:
            return
        with self._lock:
            self._users -= 1
            self._free_if_unused()

    def free(self) -> None:
        """Frees the session without leaving the job, when the last call that runs has returned. Does not block."""
        if not self.is_ours:
            return
        with self._lock:
            self._is_closed = True
            self._free_if_unused()

    def free_buffer(self, buffer: _abi.pace_buffer) -> None:
        """What a buffer that nobody refers to any more does. A session that is closed has freed it."""
        self._give_back(library().pace_buffer_free, buffer)

    def release_buffer(self, buffer: _abi.pace_buffer) -> None:
        """As free_buffer(), but does not wait: the next call that makes or frees a buffer does
        it."""
        self._give_back(library().pace_buffer_release, buffer)

    def _give_back(self, function: Any, buffer: _abi.pace_buffer) -> None:
        if self.is_ours and not self._is_closed:
            try:
                self.call(function, buffer)
            except PaceError:
                pass  # Freed with the session.

    def _free_if_unused(self) -> None:
        if self._is_closed and self._users == 0 and self._pointer:
            pointer, self._pointer = self._pointer, 0
            library().pace_session_free(pointer)
