//! Memory: a buffer of the library's, and what keeps its elements where they are.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::dlpack::{ManagedTensor, TensorKind};
use crate::element::{Element, Type};
use crate::error::Result;
use crate::handle::Handle;
use crate::text::text_of;

/// What the library tells of a buffer.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferInfo {
    /// Its elements, also those that were split off.
    pub count: u64,
    /// The type in the words of NumPy, `"<f4"`; None for `bf16`, which NumPy does not know.
    pub typestr: Option<String>,
    /// Its contents were an earlier process's of this rank.
    pub is_restored: bool,
    /// It is the trainer's own memory, which is copied at calls.
    pub is_staged: bool,
}

/// The memory of one buffer. The parts of a split buffer share it.
pub(crate) struct Memory {
    handle: Arc<Handle>,
    pub(crate) raw: pace_sys::pace_buffer,
    is_freed: bool,
    pub(crate) kind: Type,
    pub(crate) address: NonNull<u8>,
    pub(crate) count: usize,
    keeps: Keeps,
}

enum Keeps {
    /// The library's memory: a tensor holds it, also when the session is freed.
    Tensor(#[allow(dead_code)] ManagedTensor),
    /// The trainer's own.
    Own(Own),
}

/// A boxed slice that the library knows by its address.
struct Own {
    pointer: *mut c_void,
    count: usize,
    free: unsafe fn(*mut c_void, usize),
}

// SAFETY: the address is one of shared memory, or of a box whose elements are Send and Sync. Buffers guard who touches it.
unsafe impl Send for Memory {}
unsafe impl Sync for Memory {}

impl Memory {
    /// Makes a buffer in memory that the library provides.
    pub(crate) fn new(
        handle: &Arc<Handle>,
        kind: Type,
        count: usize,
        options: &pace_sys::pace_buffer_options,
    ) -> Result<Memory> {
        let (raw, address) = create(handle, kind, count, options)?;
        let tensor = match tensor_of(handle, raw, TensorKind::Unversioned) {
            Ok(tensor) => tensor,
            Err(error) => {
                let _ = free(handle, raw);
                return Err(error);
            }
        };
        Ok(Memory::from_parts(handle, raw, kind, address, count, Keeps::Tensor(tensor)))
    }

    /// Makes a buffer of the trainer's own memory, which is given back when that fails.
    pub(crate) fn import<T: Element>(
        handle: &Arc<Handle>,
        own: Box<[T]>,
    ) -> std::result::Result<Memory, (crate::Error, Box<[T]>)> {
        let count = own.len();
        let elements = Box::into_raw(own);
        let options = pace_sys::pace_buffer_options {
            source: pace_sys::PACE_POINTER as i32,
            pointer: elements.cast(),
            flags: pace_sys::PACE_MAY_STAGE,
            ..pace_sys::PACE_BUFFER_OPTIONS_INIT
        };
        match create(handle, T::TYPE, count, &options) {
            Ok((raw, address)) => {
                let own = Own { pointer: elements.cast(), count, free: free_box::<T> };
                Ok(Memory::from_parts(handle, raw, T::TYPE, address, count, Keeps::Own(own)))
            }
            // SAFETY: the library has taken nothing.
            Err(error) => Err((error, unsafe { Box::from_raw(elements) })),
        }
    }

    fn from_parts(
        handle: &Arc<Handle>,
        raw: pace_sys::pace_buffer,
        kind: Type,
        address: NonNull<u8>,
        count: usize,
        keeps: Keeps,
    ) -> Memory {
        Memory { handle: handle.clone(), raw, is_freed: false, kind, address, count, keeps }
    }

    pub(crate) fn is_own(&self) -> bool {
        matches!(self.keeps, Keeps::Own(_))
    }

    /// Frees the buffer, and gives the trainer's memory back, whose elements are of type `T`. Fails for the library's memory.
    pub(crate) fn into_box<T: Element>(mut self) -> std::result::Result<Box<[T]>, Memory> {
        debug_assert_eq!(self.kind, T::TYPE);
        // No request has the buffer. When the session is over, nothing touches it any more, either.
        let _ = self.free();
        let own = match &mut self.keeps {
            Keeps::Own(own) => own,
            Keeps::Tensor(_) => return Err(self),
        };
        own.free = keep_box;
        let elements = ptr::slice_from_raw_parts_mut(own.pointer.cast::<T>(), own.count);
        // SAFETY: `import` made the pointer of such a box, and nothing else frees it now.
        Ok(unsafe { Box::from_raw(elements) })
    }

    /// Gives the buffer back to the daemon. The elements stay where they are until this is dropped.
    pub(crate) fn free(&mut self) -> Result<()> {
        if self.is_freed {
            return Ok(());
        }
        free(&self.handle, self.raw)?;
        self.is_freed = true;
        Ok(())
    }

    /// As `free`, but waits for nobody. No request has the buffer, so nothing reads or writes the elements any more.
    pub(crate) fn release(&mut self) -> Result<()> {
        let raw = self.raw;
        self.handle.call(|session, error| unsafe { pace_sys::pace_buffer_release(session, raw, error) })?;
        self.is_freed = true;
        Ok(())
    }

    pub(crate) fn tensor(&self, kind: TensorKind) -> Result<ManagedTensor> {
        tensor_of(&self.handle, self.raw, kind)
    }

    pub(crate) fn info(&self) -> Result<BufferInfo> {
        let mut info = pace_sys::PACE_BUFFER_INFO_INIT;
        self.handle
            .call(|session, error| unsafe { pace_sys::pace_buffer_get_info(session, self.raw, &mut info, error) })?;
        let typestr = text_of(&info.typestr);
        Ok(BufferInfo {
            count: info.count,
            typestr: (!typestr.is_empty()).then_some(typestr),
            is_restored: info.flags & pace_sys::PACE_BUFFER_RESTORED != 0,
            is_staged: info.flags & pace_sys::PACE_BUFFER_STAGED != 0,
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // A session that has been dropped, or is another process's, frees its buffers by itself.
        let _ = self.free();
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // SAFETY: `import` made the pointer of a box of so many elements.
        unsafe { (self.free)(self.pointer, self.count) }
    }
}

unsafe fn free_box<T>(pointer: *mut c_void, count: usize) {
    // SAFETY: the caller has made the pointer of a box of so many elements.
    drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(pointer.cast::<T>(), count)) });
}

unsafe fn keep_box(_: *mut c_void, _: usize) {}

fn create(
    handle: &Handle,
    kind: Type,
    count: usize,
    options: &pace_sys::pace_buffer_options,
) -> Result<(pace_sys::pace_buffer, NonNull<u8>)> {
    let mut raw = pace_sys::pace_buffer { session: 0, index: 0, generation: 0 };
    let mut data = ptr::null_mut();
    handle.call(|session, error| unsafe {
        pace_sys::pace_buffer_create(session, kind.number(), count as u64, options, &mut raw, &mut data, error)
    })?;
    // A buffer has at least one element, and so an address.
    Ok((raw, NonNull::new(data.cast()).unwrap_or(NonNull::dangling())))
}

fn free(handle: &Handle, raw: pace_sys::pace_buffer) -> Result<()> {
    handle.call(|session, error| unsafe { pace_sys::pace_buffer_free(session, raw, error) })
}

fn tensor_of(handle: &Handle, raw: pace_sys::pace_buffer, kind: TensorKind) -> Result<ManagedTensor> {
    let mut pointer = ptr::null_mut();
    let major = u32::from(kind == TensorKind::Versioned);
    handle
        .call(|session, error| unsafe { pace_sys::pace_buffer_to_dlpack(session, raw, major, &mut pointer, error) })?;
    match NonNull::new(pointer) {
        // SAFETY: the library has just made the tensor, of the kind that was asked for.
        Some(pointer) => Ok(unsafe { ManagedTensor::from_raw(pointer, kind) }),
        None => Err(crate::Error::new(crate::Status::Internal, "", "the library gave no tensor; please report it")),
    }
}
