#!/usr/bin/env python3
"""asyncio: many requests are awaited at once, and a canceled task cancels its request."""

import asyncio
import threading
import unittest

import support
from support import open_session, pace


class Loops(unittest.TestCase):
    def setUp(self):
        self.sessions = [open_session(2, rank, job=self.id().rpartition(".")[2][:60]) for rank in (0, 1)]
        for session in self.sessions:
            self.addCleanup(session.close)

    def run_soon(self, coroutine):
        return asyncio.run(asyncio.wait_for(coroutine, support.SOON_S))

    def test_many_requests_are_awaited_at_once(self):
        first, second = self.sessions
        buffers = [[session.buffer("f32", 10) for _ in range(20)] for session in self.sessions]

        async def work():
            requests = [first.reduce(buffer, user_data=number) for number, buffer in enumerate(buffers[0])]
            requests += [second.reduce(buffer) for buffer in buffers[1]]
            infos = await asyncio.gather(*(request.wait_async(members=True) for request in requests))
            return [info.user_data for info in infos[:20]], {len(info.members) for info in infos}

        self.assertEqual(self.run_soon(work()), (list(range(20)), {2}))

    def test_the_loop_goes_on_while_a_request_is_awaited(self):
        first, second = self.sessions

        async def work():
            ticks = 0
            waiting = asyncio.ensure_future(first.barrier().wait_async())
            while ticks < 100:
                await asyncio.sleep(0)  # style: allow sleep, because it only lets the loop go round
                ticks += 1
            self.assertFalse(waiting.done())
            await second.barrier()
            return await waiting

        self.assertEqual(self.run_soon(work()).member_count, 2)

    def test_a_request_that_nobody_awaits_does_not_hold_up_the_others(self):
        first, second = self.sessions

        async def work():
            ended = [session.reduce(session.buffer("f32", 4)) for session in self.sessions]
            pending = [session.reduce(session.buffer("f32", 4)) for session in self.sessions[:1]]
            waiting = asyncio.ensure_future(pending[0].wait_async())
            await ended[1]
            await second.reduce(second.buffer("f32", 4))
            info = await waiting
            return info.member_count, ended[0].wait(support.SOON_S).member_count

        self.assertEqual(self.run_soon(work()), (2, 2))

    def test_a_canceled_task_cancels_its_request_which_is_still_collected(self):
        first, _ = self.sessions

        async def work():
            request = first.reduce(first.buffer("f32", 4))
            task = asyncio.ensure_future(request.wait_async())
            await asyncio.sleep(0)  # style: allow sleep, because it only lets the task begin
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            with self.assertRaises(pace.Canceled):
                await request
            with self.assertRaises(pace.NotFound):
                first.next()

        self.run_soon(work())

    def test_a_failure_is_raised_where_it_is_awaited(self):
        async def work():
            with open_session(reduce_reject_nonfinite=True) as session:
                gradient = session.buffer("f32", 4)
                gradient.memoryview()[0] = float("inf")
                with self.assertRaises(pace.Refused):
                    await session.reduce(gradient)

        self.run_soon(work())

    def test_a_session_that_is_closed_ends_what_is_awaited(self):
        session = open_session(2)

        async def work(close):
            request = session.barrier()
            waiting = asyncio.ensure_future(request.wait_async())
            await asyncio.sleep(0)  # style: allow sleep, because it only lets the task begin
            close()
            with self.assertRaises(pace.Closed):
                await waiting

        self.run_soon(work(session.close))
        session = open_session(2)
        self.run_soon(work(lambda: threading.Thread(target=session.close).start()))

    def test_a_session_serves_one_loop_after_the_other(self):
        for _ in range(3):
            async def work():
                requests = [session.barrier() for session in self.sessions]
                return [(await request).member_count for request in requests]

            self.assertEqual(self.run_soon(work()), [2, 2])


if __name__ == "__main__":
    support.main()
