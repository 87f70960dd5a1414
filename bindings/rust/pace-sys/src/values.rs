//! The inline functions of `pace.h`.

use core::ffi::c_void;
use std::os::raw::c_char;

use crate::bindings::*;

/// Of a slice's `count`: to the buffer's end.
pub const PACE_REST: u64 = u64::MAX;

/// All of a buffer. `PACE_WHOLE` of `pace.h`.
pub const fn pace_whole(buffer: pace_buffer) -> pace_slice {
    pace_slice { buffer, first: 0, count: PACE_REST }
}

const fn option_of(name: *const c_char, kind: u32, value: pace_option_value) -> pace_option {
    pace_option { name, kind: kind as i32, flags: 0, value, bytes: 0 }
}

/// A whole number. `PACE_OPTION_INT` of `pace.h`.
pub const fn pace_option_int(name: *const c_char, number: i64) -> pace_option {
    option_of(name, PACE_INT, pace_option_value { i: number })
}

/// A real number. `PACE_OPTION_REAL` of `pace.h`.
pub const fn pace_option_real(name: *const c_char, number: f64) -> pace_option {
    option_of(name, PACE_REAL, pace_option_value { r: number })
}

/// A text, zero-terminated. `PACE_OPTION_TEXT` of `pace.h`.
pub const fn pace_option_text(name: *const c_char, text: *const c_char) -> pace_option {
    option_of(name, PACE_TEXT, pace_option_value { text })
}

/// `bytes` bytes at `data`. `PACE_OPTION_BYTES` of `pace.h`.
pub const fn pace_option_bytes(name: *const c_char, data: *const c_void, bytes: u64) -> pace_option {
    let mut option = option_of(name, PACE_BYTES, pace_option_value { data });
    option.bytes = bytes;
    option
}
