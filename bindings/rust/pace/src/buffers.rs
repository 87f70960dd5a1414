//! Buffers: what a verb takes, one buffer or several, owned or borrowed.

use crate::buffer::Buffer;
use crate::element::{Element, Type};

/// Elements of one buffer, by their address. Only this crate can make one.
#[derive(Clone, Copy)]
pub struct Part {
    pub(crate) slice: pace_sys::pace_slice,
    pub(crate) kind: Type,
    pub(crate) pointer: *mut u8,
}

// SAFETY: a part is used only by the owner, or the mutable borrower, of its buffer.
unsafe impl Send for Part {}
unsafe impl Sync for Part {}

impl Part {
    pub(crate) fn count(&self) -> usize {
        self.slice.count as usize
    }
}

/// What a verb takes: a [`Buffer`], `&mut Buffer`, or a `Vec`, array, box or tuple of them. They count as one vector in their
/// order. All workers give the same types and lengths.
///
/// # Safety
/// `parts` tells of buffers that the value owns, or has borrowed as mutable, and of the same ones at each call. While the
/// value is not dropped, nobody else touches their elements.
pub unsafe trait Buffers: Send {
    /// Appends the parts that this value has.
    fn parts(&self, parts: &mut Vec<Part>);
}

// SAFETY: a buffer alone has its elements.
unsafe impl<T: Element> Buffers for Buffer<T> {
    fn parts(&self, parts: &mut Vec<Part>) {
        parts.push(Part {
            slice: pace_sys::pace_slice {
                buffer: self.memory().raw,
                first: self.offset() as u64,
                count: self.len() as u64,
            },
            kind: T::TYPE,
            pointer: self.pointer().cast(),
        });
    }
}

// SAFETY: who borrows as mutable is alone with what it has borrowed.
unsafe impl<B: Buffers + ?Sized> Buffers for &mut B {
    fn parts(&self, parts: &mut Vec<Part>) {
        (**self).parts(parts);
    }
}

// SAFETY: a box owns what it holds.
unsafe impl<B: Buffers + ?Sized> Buffers for Box<B> {
    fn parts(&self, parts: &mut Vec<Part>) {
        (**self).parts(parts);
    }
}

// SAFETY: a slice is reached through its owner, or by one mutable borrow.
unsafe impl<B: Buffers> Buffers for [B] {
    fn parts(&self, parts: &mut Vec<Part>) {
        self.iter().for_each(|buffers| buffers.parts(parts));
    }
}

// SAFETY: a vector owns its elements.
unsafe impl<B: Buffers> Buffers for Vec<B> {
    fn parts(&self, parts: &mut Vec<Part>) {
        self.as_slice().parts(parts);
    }
}

// SAFETY: an array owns its elements.
unsafe impl<B: Buffers, const N: usize> Buffers for [B; N] {
    fn parts(&self, parts: &mut Vec<Part>) {
        self.as_slice().parts(parts);
    }
}

// SAFETY: it has no buffers.
unsafe impl Buffers for () {
    fn parts(&self, _: &mut Vec<Part>) {}
}

macro_rules! tuples {
    ($(($($name:ident $field:tt),+);)*) => {
        $(
            // SAFETY: a tuple owns its fields.
            unsafe impl<$($name: Buffers),+> Buffers for ($($name,)+) {
                fn parts(&self, parts: &mut Vec<Part>) {
                    $(self.$field.parts(parts);)+
                }
            }
        )*
    };
}

tuples! {
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
}
