//! Tensor: a buffer's elements as DLPack hands them over.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::slice;
use std::sync::Arc;

use crate::dlpack::ManagedTensor;
use crate::element::Element;
use crate::memory::Memory;

/// A tensor of DLPack, of one dimension, which owns its elements: they stay when the buffer and the session are gone. Made by
/// [`Buffer::into_tensor`](crate::Buffer::into_tensor). Threads: any.
pub struct Tensor<T: Element> {
    managed: ManagedTensor,
    /// Imported memory, which the tensor of the library does not hold.
    owner: Option<Arc<Memory>>,
    elements: PhantomData<T>,
}

impl<T: Element> Tensor<T> {
    pub(crate) fn new(managed: ManagedTensor, owner: Option<Arc<Memory>>) -> Tensor<T> {
        Tensor { managed, owner, elements: PhantomData }
    }

    /// DLPack's code of the type: 1 unsigned integer, 2 float, 4 bfloat.
    pub fn code(&self) -> u8 {
        self.managed.tensor().data_type.code
    }

    /// Bits of an element.
    pub fn bits(&self) -> u8 {
        self.managed.tensor().data_type.bits
    }

    /// The address of the `DLManagedTensor` or `DLManagedTensorVersioned`, for a library that takes one. Whoever gets it calls
    /// its deleter once. Gives the tensor back when its memory was imported, which the deleter would not keep.
    pub fn into_raw(self) -> Result<*mut c_void, Tensor<T>> {
        match self.owner {
            Some(_) => Err(self),
            None => Ok(self.managed.into_raw()),
        }
    }

    fn count(&self) -> usize {
        // SAFETY: the library makes tensors of one dimension.
        unsafe { *self.managed.tensor().shape as usize }
    }
}

impl<T: Element> Deref for Tensor<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the tensor holds so many elements of this type, and is alone with them; or whoever shared it sees to that.
        unsafe { slice::from_raw_parts(self.managed.tensor().data.cast(), self.count()) }
    }
}

impl<T: Element> DerefMut for Tensor<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`; and the tensor is borrowed as mutable.
        unsafe { slice::from_raw_parts_mut(self.managed.tensor().data.cast(), self.count()) }
    }
}

impl<T: Element> fmt::Debug for Tensor<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Tensor({}, {} elements)", T::TYPE, self.count())
    }
}
