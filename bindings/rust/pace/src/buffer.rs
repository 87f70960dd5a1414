//! Buffer: elements that this process and the daemon share.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::slice;
use std::sync::Arc;

use crate::dlpack::TensorKind;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::memory::{BufferInfo, Memory};
use crate::tensor::Tensor;

/// Elements that verbs work on, as a slice `[T]`. Made by [`Session::buffer`](crate::Session::buffer),
/// [`import`](crate::Session::import) and [`import_fd`](crate::Session::import_fd).
///
/// A verb takes the buffer, and its request gives it back when it has ended. No code can therefore
/// touch the elements while the daemon does. A part that is split off is a buffer of its own, which
/// another request may have meanwhile.
///
/// Owns its elements: they stay when the session is dropped. The daemon's share of the memory is given back when the last
/// part is dropped. Threads: any. Dropping the last part blocks for one exchange with the daemon.
pub struct Buffer<T: Element> {
    memory: Arc<Memory>,
    first: usize,
    count: usize,
    elements: PhantomData<T>,
}

impl<T: Element> Buffer<T> {
    pub(crate) fn new(memory: Memory) -> Buffer<T> {
        Buffer { first: 0, count: memory.count, memory: Arc::new(memory), elements: PhantomData }
    }

    /// Splits the elements from `at` on off: this buffer keeps `[0, at)`, and the one that is given has `[at, len)`.
    ///
    /// Panics when `at` lies beyond the end. Does not copy, and does not block.
    pub fn split_off(&mut self, at: usize) -> Buffer<T> {
        assert!(at <= self.count, "split_off: {} lies beyond the end of {} elements", at, self.count);
        let rest = Buffer {
            memory: self.memory.clone(),
            first: self.first + at,
            count: self.count - at,
            elements: PhantomData,
        };
        self.count = at;
        rest
    }

    /// Joins a part with the one that follows it in the same buffer. Gives `next` back when it is another's.
    pub fn unsplit(&mut self, next: Buffer<T>) -> std::result::Result<(), Buffer<T>> {
        if !Arc::ptr_eq(&self.memory, &next.memory) || self.first + self.count != next.first {
            return Err(next);
        }
        self.count += next.count;
        Ok(())
    }

    /// Where this part begins in the whole buffer, in elements.
    pub fn offset(&self) -> usize {
        self.first
    }

    /// What the library tells of the whole buffer. Fails with `Closed` when the session has been dropped.
    pub fn info(&self) -> Result<BufferInfo> {
        self.memory.info()
    }

    /// Gives the buffer back to the daemon, as dropping it does, and tells how that went. While other parts of it are there,
    /// does nothing. Blocks for one exchange with the daemon.
    pub fn free(self) -> Result<()> {
        match Arc::try_unwrap(self.memory) {
            Ok(mut memory) => memory.free(),
            Err(_) => Ok(()),
        }
    }

    /// As [`free`](Buffer::free), but does not block: the next call of the session that makes or frees a buffer does it.
    pub fn release(self) -> Result<()> {
        match Arc::try_unwrap(self.memory) {
            Ok(mut memory) => memory.release(),
            Err(_) => Ok(()),
        }
    }

    /// The memory that [`import`](crate::Session::import) was given, with the contents that it has now. Gives the buffer back
    /// when it was not imported, or other parts of it are there. Blocks for one exchange with the daemon.
    pub fn into_boxed_slice(self) -> std::result::Result<Box<[T]>, Buffer<T>> {
        let (first, count) = (self.first, self.count);
        if !self.memory.is_own() || count != self.memory.count {
            return Err(self);
        }
        let rebuilt = |memory| Buffer { memory, first, count, elements: PhantomData };
        match Arc::try_unwrap(self.memory) {
            Ok(memory) => memory.into_box().map_err(|memory| rebuilt(Arc::new(memory))),
            Err(memory) => Err(rebuilt(memory)),
        }
    }

    /// The buffer as a tensor of DLPack, which other libraries take. Fails with `Invalid` for a part, and for imported memory:
    /// [`into_boxed_slice`](Buffer::into_boxed_slice) gives that back. The buffer is given back then.
    ///
    /// Blocks for one exchange with the daemon, which gets its share of the memory back.
    pub fn into_tensor(self, kind: TensorKind) -> std::result::Result<Tensor<T>, Failure<Buffer<T>>> {
        match self.new_tensor(kind, false) {
            Ok(tensor) => Ok(tensor),
            Err(error) => Err(Failure::refused(error, self)),
        }
    }

    /// A tensor of DLPack over the same memory; the buffer stays. For imported memory the tensor holds the buffer, too.
    /// Fails with `Invalid` for a part, and with `Closed` when the session has been dropped. Does not block.
    ///
    /// # Safety
    /// The tensor and the buffer are the same elements. The caller must not read or write them
    /// through one while the other is used to write them, or while a request that has the buffer is
    /// in flight.
    pub unsafe fn share_tensor(&self, kind: TensorKind) -> Result<Tensor<T>> {
        self.new_tensor(kind, true)
    }

    fn new_tensor(&self, kind: TensorKind, is_shared: bool) -> Result<Tensor<T>> {
        if self.count != self.memory.count {
            let message = format!(
                "buffer: {} of its {} elements cannot be a tensor; join its parts first",
                self.count, self.memory.count
            );
            return Err(Error::invalid("buffer", message));
        }
        let owner = self.memory.is_own().then(|| self.memory.clone());
        if owner.is_some() && !is_shared {
            let message = "buffer: its memory was imported; into_boxed_slice gives that back";
            return Err(Error::invalid("buffer", message));
        }
        Ok(Tensor::new(self.memory.tensor(kind)?, owner))
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(crate) fn pointer(&self) -> *mut T {
        // SAFETY: `first` is at most the count of the memory's elements, which are of type T.
        unsafe { self.memory.address.as_ptr().cast::<T>().add(self.first) }
    }
}

impl<T: Element> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the memory has these elements, of a type for which all bits are values. Nobody else writes them: other parts
        // are other elements, and a request in flight owns the buffers that it names, or has borrowed them as mutable.
        unsafe { slice::from_raw_parts(self.pointer(), self.count) }
    }
}

impl<T: Element> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`; and this part is borrowed as mutable.
        unsafe { slice::from_raw_parts_mut(self.pointer(), self.count) }
    }
}

impl<T: Element> fmt::Debug for Buffer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Buffer({}, {} elements from {})", T::TYPE, self.count, self.first)
    }
}
