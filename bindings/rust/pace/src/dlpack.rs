//! The structs of DLPack (`dlpack.h` 0.8 and 1.0), and a tensor of the library's that ends with its owner.

use std::ffi::c_void;
use std::ptr::NonNull;

#[repr(C)]
pub(crate) struct DlDataType {
    pub(crate) code: u8,
    pub(crate) bits: u8,
    pub(crate) lanes: u16,
}

#[repr(C)]
pub(crate) struct DlTensor {
    pub(crate) data: *mut c_void,
    pub(crate) device: pace_sys::pace_device,
    pub(crate) dimensions: i32,
    pub(crate) data_type: DlDataType,
    pub(crate) shape: *mut i64,
    pub(crate) strides: *mut i64,
    pub(crate) byte_offset: u64,
}

#[repr(C)]
struct DlManagedTensor {
    tensor: DlTensor,
    manager_context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DlManagedTensor)>,
}

#[repr(C)]
struct DlManagedTensorVersioned {
    major: u32,
    minor: u32,
    manager_context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DlManagedTensorVersioned)>,
    flags: u64,
    tensor: DlTensor,
}

/// Which struct a tensor of DLPack is handed over as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TensorKind {
    /// `DLManagedTensor`, what a capsule "dltensor" holds.
    #[default]
    Unversioned,
    /// `DLManagedTensorVersioned` of version 1.0, what a capsule "dltensor_versioned" holds.
    Versioned,
}

/// A managed tensor. Its deleter is called when it is dropped.
pub(crate) struct ManagedTensor {
    pointer: NonNull<c_void>,
    kind: TensorKind,
}

// SAFETY: the library lets any thread end a tensor.
unsafe impl Send for ManagedTensor {}
unsafe impl Sync for ManagedTensor {}

impl ManagedTensor {
    /// # Safety
    /// `pointer` is a managed tensor of this kind, which nobody else ends.
    pub(crate) unsafe fn from_raw(pointer: NonNull<c_void>, kind: TensorKind) -> ManagedTensor {
        ManagedTensor { pointer, kind }
    }

    /// Gives the tensor up: whoever gets the pointer ends it.
    pub(crate) fn into_raw(self) -> *mut c_void {
        let pointer = self.pointer.as_ptr();
        std::mem::forget(self);
        pointer
    }

    pub(crate) fn tensor(&self) -> &DlTensor {
        // SAFETY: the pointer is to a struct of this kind, by `from_raw`.
        unsafe {
            match self.kind {
                TensorKind::Unversioned => &self.pointer.cast::<DlManagedTensor>().as_ref().tensor,
                TensorKind::Versioned => &self.pointer.cast::<DlManagedTensorVersioned>().as_ref().tensor,
            }
        }
    }
}

impl Drop for ManagedTensor {
    fn drop(&mut self) {
        // SAFETY: the pointer is to a struct of this kind, and this is its only owner.
        unsafe {
            match self.kind {
                TensorKind::Unversioned => {
                    let managed = self.pointer.cast::<DlManagedTensor>().as_ptr();
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
                TensorKind::Versioned => {
                    let managed = self.pointer.cast::<DlManagedTensorVersioned>().as_ptr();
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
            }
        }
    }
}
