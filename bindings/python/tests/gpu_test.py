#!/usr/bin/env python3
"""Buffers on a GPU and the streams that wait for them, with the simulated driver (PACE_SIMULATED_GPU names its folder), in which
device memory is memory of the host."""

import os
import subprocess
import sys
import unittest
from unittest import mock

from support import Child, hosted, main

SUM = """
import ctypes, sys, pace
COUNT = 8
def address(buffer):
    return buffer.__cuda_array_interface__["data"][0]
def fill(buffer, value):
    ctypes.memmove(address(buffer), (ctypes.c_float * COUNT)(*[value] * COUNT), 4 * COUNT)
def values(buffer):
    return list((ctypes.c_float * COUNT).from_address(address(buffer)))
# A stream of its own for the second worker: it must not wait behind the first one's.
cuda, context, stream = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxPushCurrent_v2(context) == 0 and cuda.cuStreamCreate(ctypes.byref(stream), 1) == 0
with pace.daemon.Daemon() as daemon:
    endpoint = daemon.endpoint if sys.argv[1] == "apart" else "embedded:"
    with pace.Session("gpu", "all-reduce", rank=0, world=2, endpoint=endpoint) as first, \\
            pace.Session("gpu", "all-reduce", rank=1, world=2, endpoint=endpoint) as second:
        mine, other = first.buffer("f32", COUNT, device="cuda:0"), second.buffer("f32", COUNT, device="cuda:0")
        fill(mine, 1)
        fill(other, 2)
        request = first.reduce(mine, op="sum", stream=0)
        if sys.argv[1] == "apart":
            print(request.queue_wait(0), request.done())
        second.reduce(other, op="sum", stream=stream.value).wait()
        print(request.wait().member_count, values(mine) == [3] * COUNT == values(other))
        print(request.queue_wait(0).member_count)
        if sys.argv[1] != "apart":
            last = second.reduce(other, op="sum", stream=stream.value)
            print(first.reduce(mine, op="sum", stream=0).queue_wait(0).member_count, values(mine) == [6] * COUNT)
            last.wait()
"""


CONTAINED = """
import ctypes, os, sys, pace
with pace.Session("contained", "all-reduce", rank=0, world=1, endpoint=sys.argv[1]) as session:
    buffer = session.buffer("f32", 8, device="cuda:0")
    request = session.reduce(buffer, op="sum", stream=0)
    request.queue_wait(0)
    print(os.getpid(), os.listdir("/dev/shm"), request.wait().member_count)
"""
# A shell that runs the rest in a container of its own, as far as that concerns the driver's events.
CONTAINER = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", 'mount -t tmpfs tmpfs /dev/shm && exec "$@"', "sh")


class Gpus(unittest.TestCase):
    def setUp(self):
        self.folder = os.environ.get("PACE_SIMULATED_GPU")
        if self.folder is None:
            self.skipTest("PACE_SIMULATED_GPU names no simulated driver")

    def lines_of(self, *command):
        with Child(*command, LD_LIBRARY_PATH=self.folder) as child:
            code, output, errors = child.end()
        self.assertEqual(code, 0, errors)
        return output.splitlines()

    def lines(self, where):
        return self.lines_of("-c", "import pace.daemon\n" + SUM, where)

    # The driver's events need one /dev/shm and the same process numbers; the simulated one's, too.
    def test_a_trainer_in_a_container_has_buffers_on_gpus(self):
        if subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("this user may make no namespaces here")
        with mock.patch.dict(os.environ, LD_LIBRARY_PATH=self.folder), hosted() as endpoint:
            lines = self.lines_of("-c", "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])", *CONTAINER, sys.executable, "-c",
                                  CONTAINED, endpoint)
        self.assertEqual(lines, ["1 [] 1"])

    def test_a_stream_waits_for_a_request_in_flight(self):
        self.assertEqual(self.lines("apart"), ["None False", "2 True", "2"])

    # The streams of such a daemon share the queues of the trainer's: the thread waits.
    def test_a_daemon_in_this_process_has_gpus(self):
        self.assertEqual(self.lines("inside"), ["2 True", "2", "2 True"])


if __name__ == "__main__":
    main()
