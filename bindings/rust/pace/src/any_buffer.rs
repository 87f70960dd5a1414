//! AnyBuffer: a buffer whose type is known when the program runs.

use crate::buffer::Buffer;
use crate::buffers::{Buffers, Part};
use crate::element::Type;
use crate::error::Result;
use crate::half::{Bf16, F16};
use crate::memory::BufferInfo;

/// A [`Buffer`] of one of the types. A `Vec<AnyBuffer>` is a model with several of them.
#[derive(Debug)]
pub enum AnyBuffer {
    /// Of `f32`.
    F32(Buffer<f32>),
    /// Of `f64`.
    F64(Buffer<f64>),
    /// Of [`F16`].
    F16(Buffer<F16>),
    /// Of [`Bf16`].
    Bf16(Buffer<Bf16>),
    /// Of `u32`.
    U32(Buffer<u32>),
}

macro_rules! each {
    ($any:expr, $buffer:ident => $result:expr) => {
        match $any {
            AnyBuffer::F32($buffer) => $result,
            AnyBuffer::F64($buffer) => $result,
            AnyBuffer::F16($buffer) => $result,
            AnyBuffer::Bf16($buffer) => $result,
            AnyBuffer::U32($buffer) => $result,
        }
    };
}

impl AnyBuffer {
    /// The type of its elements.
    pub fn kind(&self) -> Type {
        match self {
            AnyBuffer::F32(_) => Type::F32,
            AnyBuffer::F64(_) => Type::F64,
            AnyBuffer::F16(_) => Type::F16,
            AnyBuffer::Bf16(_) => Type::Bf16,
            AnyBuffer::U32(_) => Type::U32,
        }
    }

    /// Its elements.
    pub fn len(&self) -> usize {
        each!(self, buffer => buffer.len())
    }

    /// Whether it is a part without elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As [`Buffer::offset`].
    pub fn offset(&self) -> usize {
        each!(self, buffer => buffer.offset())
    }

    /// As [`Buffer::split_off`].
    pub fn split_off(&mut self, at: usize) -> AnyBuffer {
        each!(self, buffer => buffer.split_off(at).into())
    }

    /// As [`Buffer::unsplit`].
    pub fn unsplit(&mut self, next: AnyBuffer) -> std::result::Result<(), AnyBuffer> {
        match (self, next) {
            (AnyBuffer::F32(first), AnyBuffer::F32(next)) => first.unsplit(next).map_err(AnyBuffer::F32),
            (AnyBuffer::F64(first), AnyBuffer::F64(next)) => first.unsplit(next).map_err(AnyBuffer::F64),
            (AnyBuffer::F16(first), AnyBuffer::F16(next)) => first.unsplit(next).map_err(AnyBuffer::F16),
            (AnyBuffer::Bf16(first), AnyBuffer::Bf16(next)) => first.unsplit(next).map_err(AnyBuffer::Bf16),
            (AnyBuffer::U32(first), AnyBuffer::U32(next)) => first.unsplit(next).map_err(AnyBuffer::U32),
            (_, next) => Err(next),
        }
    }

    /// As [`Buffer::info`].
    pub fn info(&self) -> Result<BufferInfo> {
        each!(self, buffer => buffer.info())
    }

    /// As [`Buffer::free`].
    pub fn free(self) -> Result<()> {
        each!(self, buffer => buffer.free())
    }

    /// As [`Buffer::release`].
    pub fn release(self) -> Result<()> {
        each!(self, buffer => buffer.release())
    }
}

// SAFETY: the buffer that it holds has its elements alone.
unsafe impl Buffers for AnyBuffer {
    fn parts(&self, parts: &mut Vec<Part>) {
        each!(self, buffer => buffer.parts(parts))
    }
}

macro_rules! from_buffers {
    ($($name:ty: $kind:ident;)*) => {
        $(
            impl From<Buffer<$name>> for AnyBuffer {
                fn from(buffer: Buffer<$name>) -> AnyBuffer {
                    AnyBuffer::$kind(buffer)
                }
            }
        )*
    };
}

from_buffers! {
    f32: F32;
    f64: F64;
    F16: F16;
    Bf16: Bf16;
    u32: U32;
}
