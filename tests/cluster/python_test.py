#!/usr/bin/env python3
"""The binding of examples/torch is pace.h's, and Ctrl-C ends a wait: python_test.py LIBPACE LIBPACED."""

import ctypes
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples/torch"))

import pace  # from there

SOON_S = 30
ENDS_WITHIN_S = 10  # half a second, on a machine that has nothing else to do
WAIT_IN_VAIN = "--wait-in-vain"
WAITS = {"wait": lambda session, request: session.wait(request),
         "wait_on_stream": lambda session, request: session.wait_on_stream(request, None)}


def wait_in_vain(library, how):
    """One worker of two, which waits for the other and says so while it does."""
    # A shell that starts a program in the background has it ignore Ctrl-C, and Python then leaves it at that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    session = pace.Session(library, "embedded:", "in-vain", 0, 2)
    model, _ = session.buffer(10)
    request = session.broadcast(model)
    about_to_wait = threading.Event()

    def tell():
        about_to_wait.wait()
        print("waits", flush=True)

    # Python runs one thread at a time, and does not take turns by itself from here on: the other thread goes on when this one is
    # in the library.
    sys.setswitchinterval(1000)
    threading.Thread(target=tell).start()
    about_to_wait.set()
    try:
        WAITS[how](session, request)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    session.close()


def die_with_us():
    """A worker that outlived a test that was killed would wait for ever."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class Binding(unittest.TestCase):
    library, library_of_daemon = None, None

    def test_its_structures_are_those_of_the_header(self):
        layout = (ROOT / "tests/abi/layout.txt").read_text(encoding="utf-8")
        ours = {name: kind for name, kind in vars(pace).items()
                if isinstance(kind, type) and issubclass(kind, ctypes.Structure)}
        self.assertIn("_SessionOptions", ours)
        for name, kind in ours.items():
            in_c = "pace" + re.sub(r"[A-Z]", lambda letter: "_" + letter.group().lower(), name.lstrip("_"))
            with self.subTest(in_c):
                size, text = re.search(rf"^struct {in_c} size (\d+)\n((?:  .*\n)*)", layout, re.MULTILINE).groups()
                header = re.findall(r"  (\w+) offset (\d+) size (\d+)", text)
                fields = [(field, str(getattr(kind, field).offset), str(getattr(kind, field).size))
                          for field, _ in kind._fields_]
                self.assertEqual(fields, header[:len(fields)])
                # Who says how much it knows may know less.
                if fields[0][0] != "struct_size":
                    self.assertEqual(ctypes.sizeof(kind), int(size))

    def test_one_ctrl_c_ends_a_wait(self):
        for how in WAITS:
            with self.subTest(how):
                self.expect_to_end(how)

    def expect_to_end(self, how):
        command = [sys.executable, "-B", __file__, WAIT_IN_VAIN, self.library, how]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_us,
                              env={**os.environ, "PACE_LIBPACED": self.library_of_daemon}) as worker:
            patience = threading.Timer(SOON_S, worker.kill)
            patience.start()
            try:
                self.assertEqual(worker.stdout.readline(), "waits\n")
                told = time.monotonic()
                worker.send_signal(signal.SIGINT)
                self.assertEqual(worker.stdout.readline(), "interrupted\n")
                self.assertLess(time.monotonic() - told, ENDS_WITHIN_S)
                self.assertEqual(worker.wait(), 0)
            finally:
                patience.cancel()
                worker.kill()


    def test_a_tensor_of_numpy_outlives_the_session(self):
        numpy = self.numpy()
        session = pace.Session(self.library, "embedded:", "tensors", 0, 1)
        handle, memory = session.buffer(1000)
        numpy.asarray(memory)[:] = 7
        tensor = numpy.from_dlpack(Tensor(session, handle))
        session.close()
        self.assertEqual(tensor.dtype, numpy.float32)
        self.assertEqual(tensor.sum(), 7000)

    def numpy(self):
        os.environ["PACE_LIBPACED"] = self.library_of_daemon
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed")
        return numpy


class Tensor:
    """A buffer, for whoever takes tensors by DLPack's protocol."""

    def __init__(self, session, handle):
        self._managed = session.to_dlpack(handle)

    def __dlpack__(self, **_):
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return capsule(self._managed, b"dltensor", None)

    def __dlpack_device__(self):
        return (1, 0)


def main():
    if sys.argv[1] == WAIT_IN_VAIN:
        wait_in_vain(*sys.argv[2:])
        return 0
    Binding.library, Binding.library_of_daemon = sys.argv[1:]
    result = unittest.main(argv=[sys.argv[0]], exit=False, verbosity=2).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
