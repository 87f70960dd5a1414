#!/usr/bin/env python3
"""Buffers show their memory without copies, and the memory outlives them while anybody looks at it."""

import array
import gc
import os
import unittest
import weakref

import support
from support import numpy_or_skip, open_session, pace


class Buffers(unittest.TestCase):
    def setUp(self):
        self.session = open_session(reduce_reject_nonfinite=False)
        self.addCleanup(self.session.close)

    def test_an_array_is_the_buffer_and_not_a_copy(self):
        numpy_or_skip(self)
        buffer = self.session.buffer("f32", (3, 4))
        buffer.numpy()[1, 2] = 5
        self.assertEqual(buffer.memoryview()[6], 5)
        self.assertEqual(buffer.numpy().shape, (3, 4))

    def test_an_array_outlives_the_buffer_and_the_session(self):
        numpy = numpy_or_skip(self)
        session = open_session()
        buffer = session.buffer("f64", 1000)
        looks = [buffer.numpy(), numpy.from_dlpack(buffer), numpy.asarray(buffer), buffer.numpy()[10:].reshape(-1, 2)]
        looks[0][:] = 7
        view = buffer.memoryview()
        buffer.free()
        session.close()
        del buffer, session
        gc.collect()
        looks[2][:] = 7  # and it can be written still
        for look in looks:
            self.assertTrue((look == 7).all())
        self.assertEqual(view[999], 7)

    def test_a_freed_buffer_gives_no_more_arrays(self):
        buffer = self.session.buffer("f32", 4)
        buffer.free()
        buffer.free()
        with self.assertRaises(pace.Handle):
            buffer.memoryview()
        with self.assertRaises(pace.Handle):
            self.session.reduce(buffer)

    def test_a_buffer_that_nobody_refers_to_is_freed(self):
        # More than a daemon gives one trainer at once.
        for _ in range(1500):
            self.session.buffer("f32", 4)
        kept = self.session.buffer("f32", 4)
        self.assertEqual(len(kept), 4)

    def test_a_request_keeps_its_buffers(self):
        with open_session(2) as session:
            request = session.reduce(session.buffer("f32", 4))
            buffer = weakref.ref(request._slices[0].buffer)
            gc.collect()
            self.assertIsNotNone(buffer())
            request.cancel()
            with self.assertRaises(pace.Canceled):
                request.wait()
            gc.collect()
            self.assertIsNone(buffer())

    def test_a_buffer_in_flight_is_not_freed(self):
        with open_session(2) as session:
            buffer = session.buffer("f32", 4)
            request = session.reduce(buffer)
            with self.assertRaises(pace.Invalid):
                buffer.free()
            request.cancel()
            with self.assertRaises(pace.Canceled):
                request.wait()
            buffer.free()

    def test_halves_are_shown_by_their_bits(self):
        numpy = numpy_or_skip(self)
        half, brain = self.session.buffer("f16", 2), self.session.buffer("bf16", 2)
        half.numpy()[:] = 1.5
        self.assertEqual(half.memoryview()[0], 0x3e00)
        brain.numpy()[:] = 0x3fc0  # 1.5
        self.assertEqual(brain.numpy().dtype, numpy.uint16)
        self.session.reduce([half, brain], op="sum").wait()
        self.assertEqual((half.numpy()[1], brain.memoryview()[1]), (1.5, 0x3fc0))
        self.assertEqual(brain.info.dl_type, (4, 16, 1))
        self.assertFalse(hasattr(brain, "__array_interface__"))
        self.assertFalse(hasattr(half, "__cuda_array_interface__"))

    def test_slices_are_ranges_of_elements(self):
        buffer = self.session.buffer("f32", 10)
        part = buffer[2:8][1:3]
        self.assertEqual((part.first, len(part)), (3, 2))
        self.assertEqual(len(buffer[5:99]), 5)
        with self.assertRaises(pace.Invalid):
            buffer[0:10:2]
        with self.assertRaises(TypeError):
            buffer[3]
        buffer.memoryview()[3] = 8
        result = self.session.buffer("f32", 2)
        self.session.reduce(part, results=result).wait()
        self.assertEqual(list(result.memoryview()), [8, 0])

    def test_an_array_of_the_trainer_is_reduced_where_it_is(self):
        numpy = numpy_or_skip(self)
        matrix = numpy.arange(6, dtype="f4").reshape(2, 3)
        for owned in (matrix, array.array("d", [1, 2, 3])):
            buffer = self.session.import_array(owned)
            self.assertTrue(buffer.info.staged)
            before = list(buffer.memoryview())
            self.session.reduce(buffer, op="sum").wait()
            self.assertEqual(list(buffer.memoryview()), before)
        self.assertEqual(self.session.import_array(matrix).shape, (2, 3))
        imported = self.session.import_array(matrix)
        imported.numpy()[0, 0] = 9
        self.assertEqual(matrix[0, 0], 9)
        self.assertEqual(numpy.from_dlpack(imported)[0, 0], 9)

    def test_two_workers_exchange_arrays_of_their_own(self):
        numpy = numpy_or_skip(self)
        job = "own-arrays"
        with open_session(2, 0, job=job) as first, open_session(2, 1, job=job) as second:
            arrays = [numpy.full(100, value, "f4") for value in (1, 3)]
            requests = [session.reduce(session.import_array(own)) for session, own in zip((first, second), arrays)]
            for request in requests:
                request.wait(support.SOON_S)
            for own in arrays:
                self.assertTrue((own == 2).all())

    def test_what_cannot_be_shared_is_refused(self):
        numpy = numpy_or_skip(self)
        locked = numpy.zeros(4, "f4")
        locked.flags.writeable = False
        for wrong in (numpy.zeros((4, 4), "f4")[:, 1], numpy.zeros(4, "i8"), b"abcd", 7):
            with self.assertRaises(pace.Invalid):
                self.session.import_array(wrong)
        with self.assertRaises((pace.Invalid, BufferError, TypeError)):
            self.session.import_array(locked)

    def test_memory_of_a_descriptor_is_shared_without_copies(self):
        import mmap
        descriptor = pace.memfd("f32", 8)
        self.addCleanup(os.close, descriptor)
        with mmap.mmap(descriptor, 4096) as own:
            view = memoryview(own).cast("f")
            buffer = self.session.import_fd(descriptor, "f32", 8)
            buffer.memoryview()[3] = 4
            self.assertEqual(view[3], 4)
            self.assertFalse(buffer.info.staged)
            view.release()


if __name__ == "__main__":
    support.main()
