//! Texts between Rust and C.

use std::ffi::CString;
use std::os::raw::c_char;

use crate::error::{Error, Result};

/// A text for C. Fails with `Invalid` when it holds a zero byte, which would cut it.
pub(crate) fn text_for(argument: &str, text: &str) -> Result<CString> {
    CString::new(text)
        .map_err(|_| Error::invalid(argument, format!("{argument}: {text:?} holds a zero byte; leave it out")))
}

/// The text in a field of a struct: up to its first zero byte, or all of it.
pub(crate) fn text_of(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field.iter().map(|&letter| letter as u8).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
