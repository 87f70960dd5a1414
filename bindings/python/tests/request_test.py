#!/usr/bin/env python3
"""Requests: waits let other threads run, end by Ctrl-C, and end when the session does; sessions end without a good-bye unless asked."""

import gc
import os
import signal
import sys
import threading
import time
import unittest

import support
from support import Child, open_session, pace

WITHIN_S = 10  # less than one second, on a machine that has nothing else to do

WAIT_IN_VAIN = """
import signal, sys, threading, pace
signal.signal(signal.SIGINT, signal.default_int_handler)
session = pace.Session("in-vain", "all-reduce", rank=0, world=2)
request = session.reduce(session.buffer("f32", 10))
about_to_wait = threading.Event()
def tell():
    about_to_wait.wait()
    print("waits", flush=True)
# The other thread goes on only when this one lets go of the interpreter: in the library.
sys.setswitchinterval(1000)
threading.Thread(target=tell).start()
about_to_wait.set()
try:
    {wait}
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(request.done(), flush=True)
session.close()
"""

DIES = """
import os, signal, sys, pace
with pace.Session("leaving", "all-reduce", rank=1, world=2, endpoint=sys.argv[1]) as session:
    model = session.buffer("f32", 4)
    session.broadcast(model).wait()
    {end}
"""


class Requests(unittest.TestCase):
    def test_ctrl_c_ends_a_wait(self):
        for wait in ("request.wait()", "session.next()", "request.wait(3600)"):
            with self.subTest(wait), Child("-c", WAIT_IN_VAIN.format(wait=wait)) as child:
                self.assertEqual(child.line(), "waits")
                told = time.monotonic()
                child.process.send_signal(signal.SIGINT)
                self.assertEqual(child.line(), "interrupted")
                self.assertLess(time.monotonic() - told, WITHIN_S)
                self.assertEqual(child.line(), "False")
                self.assertEqual(child.end()[0], 0)

    def test_a_timeout_leaves_the_request_in_flight(self):
        with open_session(2, 0, job="later") as first, open_session(2, 1, job="later") as second:
            request = first.barrier(user_data=5)
            with self.assertRaises(TimeoutError):
                request.wait(0.01)
            with self.assertRaises(pace.Timeout):
                first.next(0)
            second.barrier().wait(support.SOON_S)
            self.assertEqual(request.wait(support.SOON_S).user_data, 5)
            self.assertEqual(request.wait(0).user_data, 5)

    def test_next_gives_the_request_that_has_ended(self):
        with open_session() as session:
            buffers = [session.buffer("f32", 4) for _ in range(8)]
            begun = [session.reduce(buffer, user_data=number) for number, buffer in enumerate(buffers)]
            ended = [session.next(support.SOON_S) for _ in begun]
            self.assertEqual({request.wait().user_data for request in ended}, set(range(8)))
            self.assertEqual({id(request) for request in ended}, {id(request) for request in begun})
            with self.assertRaises(pace.NotFound):
                session.next()

    def test_threads_exchange_at_once(self):
        with open_session(2, 0, job="threads") as first, open_session(2, 1, job="threads") as second:
            buffers = {session: session.buffer("f32", 1000) for session in (first, second)}
            rounds = {first: [], second: []}

            def work(session):
                rounds[session] += [session.reduce(buffers[session]).wait().round for _ in range(50)]

            threads = [threading.Thread(target=work, args=(session,)) for session in rounds]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(support.SOON_S)
            self.assertEqual(len(rounds[first]), 50)
            self.assertEqual(rounds[first], rounds[second])

    def test_one_request_is_waited_for_by_many(self):
        with open_session(2, 0, job="many") as first, open_session(2, 1, job="many") as second:
            request, infos = first.barrier(user_data=3), []
            threads = [threading.Thread(target=lambda: infos.append(request.wait(support.SOON_S))) for _ in range(4)]
            for thread in threads:
                thread.start()
            second.barrier().wait(support.SOON_S)
            for thread in threads:
                thread.join(support.SOON_S)
            self.assertEqual([info.user_data for info in infos], [3] * 4)

    def test_a_wait_of_another_thread_ends_with_the_session(self):
        for end in ("close", "free"):
            with self.subTest(end):
                session = open_session(2)
                request, caught, waits = session.barrier(), [], threading.Event()

                def wait():
                    waits.set()
                    try:
                        request.wait()
                    except pace.PaceError as error:
                        caught.append(type(error))

                thread = threading.Thread(target=wait)
                thread.start()
                waits.wait()
                getattr(session, end)()
                thread.join(support.SOON_S)
                self.assertEqual(caught, [pace.Closed])

    def test_info_has_the_members(self):
        with open_session(2, 0, job="members") as first, open_session(2, 1, job="members") as second:
            requests = [session.reduce(session.buffer("f32", 4)) for session in (first, second)]
            infos = [request.wait(support.SOON_S, members=True) for request in requests]
            self.assertEqual([member.rank for member in infos[0].members], [0, 1])
            self.assertEqual((infos[0].divisor, infos[0].late), (2.0, False))

    def test_a_forked_child_is_told_and_leaves_the_parent_alone(self):
        with open_session() as session:
            buffer = session.buffer("f32", 4)
            view = buffer.memoryview()
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    session.barrier()
                except pace.Invalid:
                    code = 0
                del view, buffer
                session.free()
                gc.collect()
                os._exit(code)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            view[0] = 4
            self.assertEqual(session.reduce(buffer).wait(support.SOON_S).member_count, 1)


class Ends(unittest.TestCase):
    """How a worker ends is seen by whether the job keeps what a worker that returns would need: its buffers."""

    def restored_after(self, end):
        with support.hosted() as endpoint:
            with pace.Session("leaving", "all-reduce", rank=0, world=2, endpoint=endpoint, run="one") as other:
                with Child("-c", DIES.format(end=end), endpoint, PACE_RUN_ID="one") as child:
                    other.broadcast(other.buffer("f32", 4)).wait(support.SOON_S)
                    child.end()
                with pace.Session("leaving", "all-reduce", rank=1, world=2, endpoint=endpoint, run="one") as again:
                    return again.buffer("f32", 4).info.restored

    def test_a_with_that_ends_well_leaves(self):
        self.assertFalse(self.restored_after("pass"))

    def test_a_with_that_ends_by_an_exception_does_not_leave(self):
        self.assertTrue(self.restored_after("raise RuntimeError('no more')"))

    def test_a_session_that_is_collected_does_not_leave(self):
        self.assertTrue(self.restored_after("import gc; del session; gc.collect(); os._exit(0)"))

    def test_a_worker_that_is_killed_does_not_leave(self):
        self.assertTrue(self.restored_after("os.kill(os.getpid(), signal.SIGKILL)"))


if __name__ == "__main__":
    support.main()
