//! Options of a job.

use std::ffi::CString;
use std::os::raw::c_char;

use crate::error::Result;
use crate::text::text_for;

/// The value of an option. Numbers, texts and bytes become one by themselves: `.option("group.size", 3)`.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number; of a switch, 0 or 1.
    Int(i64),
    /// A real number. A whole one does as well.
    Real(f64),
    /// A text; of a choice, its word.
    Text(String),
    /// Bytes: of group.edges, pairs of ranks as 32-bit numbers, the least byte first.
    Bytes(Vec<u8>),
}

macro_rules! values {
    ($($name:ty: $value:ident => $result:expr;)*) => {
        $(
            impl From<$name> for Value {
                fn from($value: $name) -> Value {
                    $result
                }
            }
        )*
    };
}

values! {
    i32: number => Value::Int(number.into());
    u32: number => Value::Int(number.into());
    i64: number => Value::Int(number);
    bool: switch => Value::Int(switch.into());
    f64: number => Value::Real(number);
    &str: text => Value::Text(text.to_owned());
    String: text => Value::Text(text);
    Vec<u8>: bytes => Value::Bytes(bytes);
}

/// An option as a session is opened with it.
#[derive(Clone, Debug)]
pub(crate) struct JobOption {
    pub(crate) name: String,
    pub(crate) value: Value,
    /// Whoever does not know the name ignores it.
    pub(crate) is_hint: bool,
}

/// Options in the words of the library, and what they point to.
pub(crate) struct RawOptions {
    pub(crate) options: Vec<pace_sys::pace_option>,
    #[allow(dead_code)]
    texts: Vec<CString>,
}

/// The bytes of `options` live as long as what this gives is used.
pub(crate) fn raw_options(options: &[JobOption]) -> Result<RawOptions> {
    let mut raw = RawOptions { options: Vec::new(), texts: Vec::new() };
    for option in options {
        let name = raw.keep("options", &option.name)?;
        let mut made = match &option.value {
            Value::Int(number) => pace_sys::pace_option_int(name, *number),
            Value::Real(number) => pace_sys::pace_option_real(name, *number),
            Value::Text(text) => pace_sys::pace_option_text(name, raw.keep(&option.name, text)?),
            Value::Bytes(bytes) => pace_sys::pace_option_bytes(name, bytes.as_ptr().cast(), bytes.len() as u64),
        };
        if option.is_hint {
            made.flags = pace_sys::PACE_OPTION_HINT;
        }
        raw.options.push(made);
    }
    Ok(raw)
}

impl RawOptions {
    fn keep(&mut self, argument: &str, text: &str) -> Result<*const c_char> {
        let kept = text_for(argument, text)?;
        // The characters stay where they are when the list grows.
        let pointer = kept.as_ptr();
        self.texts.push(kept);
        Ok(pointer)
    }
}
