//! The types that elements of buffers have.

use std::fmt;

use crate::half::{Bf16, F16};

/// What kind of number a buffer's elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// [`F16`]. Sums are made in `f32`.
    F16,
    /// [`Bf16`]. Sums are made in `f32`.
    Bf16,
    /// `u32`: indices, for `push` alone.
    U32,
}

impl Type {
    pub(crate) fn number(self) -> i32 {
        let number = match self {
            Type::F32 => pace_sys::PACE_F32,
            Type::F64 => pace_sys::PACE_F64,
            Type::F16 => pace_sys::PACE_F16,
            Type::Bf16 => pace_sys::PACE_BF16,
            Type::U32 => pace_sys::PACE_U32,
        };
        number as i32
    }
}

impl fmt::Display for Type {
    /// `f32`, `f64`, `f16`, `bf16` or `u32`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Type::F32 => "f32",
            Type::F64 => "f64",
            Type::F16 => "f16",
            Type::Bf16 => "bf16",
            Type::U32 => "u32",
        })
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type of a buffer's elements: `f32`, `f64`, [`F16`], [`Bf16`] or `u32`.
///
/// Every pattern of bits is a value of each of them.
pub trait Element: sealed::Sealed + Copy + Default + Send + Sync + 'static {
    /// The type in the words of Pace.
    const TYPE: Type;
}

macro_rules! elements {
    ($($name:ty: $kind:ident;)*) => {
        $(
            impl sealed::Sealed for $name {}
            impl Element for $name {
                const TYPE: Type = Type::$kind;
            }
        )*
    };
}

elements! {
    f32: F32;
    f64: F64;
    F16: F16;
    Bf16: Bf16;
    u32: U32;
}
