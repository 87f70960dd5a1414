//! Elements: numbers of any type, as cases write them.

use pace::{AnyBuffer, Bf16, F16};

/// A number as cases write it: decimal; of the 16-bit types, its bits.
pub trait Number: Copy {
    fn parse(text: &str) -> Option<Self>;
    fn text(self) -> String;
}

macro_rules! floats {
    ($($name:ty)*) => {
        $(
            impl Number for $name {
                fn parse(text: &str) -> Option<$name> {
                    text.parse().ok()
                }

                fn text(self) -> String {
                    if self.is_nan() { "nan".to_owned() } else { self.to_string() }
                }
            }
        )*
    };
}

macro_rules! halves {
    ($($name:ty)*) => {
        $(
            impl Number for $name {
                fn parse(text: &str) -> Option<$name> {
                    text.parse().ok().map(<$name>::from_bits)
                }

                fn text(self) -> String {
                    self.to_bits().to_string()
                }
            }
        )*
    };
}

floats! { f32 f64 }
halves! { F16 Bf16 }

impl Number for u32 {
    fn parse(text: &str) -> Option<u32> {
        text.parse().ok()
    }

    fn text(self) -> String {
        self.to_string()
    }
}

/// Elements, borrowed.
pub enum Elements<'a> {
    F32(&'a mut [f32]),
    F64(&'a mut [f64]),
    F16(&'a mut [F16]),
    Bf16(&'a mut [Bf16]),
    U32(&'a mut [u32]),
}

macro_rules! each {
    ($elements:expr, $slice:ident => $result:expr) => {
        match $elements {
            Elements::F32($slice) => $result,
            Elements::F64($slice) => $result,
            Elements::F16($slice) => $result,
            Elements::Bf16($slice) => $result,
            Elements::U32($slice) => $result,
        }
    };
}

impl<'a> Elements<'a> {
    pub fn of(buffer: &'a mut AnyBuffer) -> Elements<'a> {
        match buffer {
            AnyBuffer::F32(buffer) => Elements::F32(buffer),
            AnyBuffer::F64(buffer) => Elements::F64(buffer),
            AnyBuffer::F16(buffer) => Elements::F16(buffer),
            AnyBuffer::Bf16(buffer) => Elements::Bf16(buffer),
            AnyBuffer::U32(buffer) => Elements::U32(buffer),
        }
    }

    pub fn len(&self) -> usize {
        each!(self, slice => slice.len())
    }

    pub fn text(&self, index: usize) -> String {
        each!(self, slice => slice[index].text())
    }

    /// False: the text is no number of this type.
    pub fn set(&mut self, index: usize, text: &str) -> bool {
        fn put<T: Number>(place: &mut T, text: &str) -> bool {
            T::parse(text).map(|number| *place = number).is_some()
        }
        each!(self, slice => put(&mut slice[index], text))
    }
}
