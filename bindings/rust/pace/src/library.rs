//! The library that is loaded: its version, and what it tells of itself.

use std::ffi::CStr;
use std::ptr;

use crate::error::{Error, ErrorRoom, Result};
use crate::status::Status;
use crate::text::text_for;

/// The version of `pace.h` that this crate was made for, as 10000 * major + 100 * minor + patch.
pub const HEADER_VERSION: u32 =
    pace_sys::PACE_VERSION_MAJOR * 10000 + pace_sys::PACE_VERSION_MINOR * 100 + pace_sys::PACE_VERSION_PATCH;

/// The version of the library that is loaded, as 10000 * major + 100 * minor + patch. Threads: any. Does not block.
pub fn library_version() -> u32 {
    // SAFETY: it takes nothing.
    unsafe { pace_sys::pace_library_version() }
}

/// Fails with `Version` when the library is older than this crate, or has another ABI. Later minor releases add and change nothing.
pub(crate) fn check_version() -> Result<()> {
    let loaded = library_version();
    if loaded / 10000 == HEADER_VERSION / 10000 && loaded / 100 >= HEADER_VERSION / 100 {
        return Ok(());
    }
    let message = format!(
        "libpace is version {} and this crate needs {} or a later one of its major version; install libpace of this crate's release",
        version_text(loaded),
        version_text(HEADER_VERSION)
    );
    Err(Error::new(Status::Version, "", message))
}

fn version_text(version: u32) -> String {
    format!("{}.{}.{}", version / 10000, version / 100 % 100, version % 100)
}

/// A JSON document. `what`: `"options"`, `"policies"`, `"versions"`, or `"status"`, the cluster as `pacectl status --json` shows
/// it.
///
/// Without an endpoint only the library is asked, which knows no status, and the call does not
/// block. With an endpoint (`""`: the daemon that a session finds by itself) it blocks for at most
/// twenty seconds.
///
/// Threads: any. Fails with `Invalid`, and with an endpoint as [`SessionBuilder::open`](crate::SessionBuilder::open).
pub fn query(what: &str, endpoint: Option<&str>) -> Result<String> {
    let what = text_for("what", what)?;
    let endpoint = endpoint.map(|endpoint| text_for("endpoint", endpoint)).transpose()?;
    let endpoint = endpoint.as_ref().map_or(ptr::null(), |endpoint| endpoint.as_ptr());
    let mut json = ptr::null_mut();
    let mut error = ErrorRoom::new();
    // SAFETY: the texts live until the end of this function.
    let status = unsafe { pace_sys::pace_query(endpoint, what.as_ptr(), &mut json, error.pointer()) };
    error.check(status)?;
    // SAFETY: the library gave a zero-terminated text, which this frees once.
    let text = unsafe { CStr::from_ptr(json) }.to_string_lossy().into_owned();
    unsafe { pace_sys::pace_text_free(json) };
    Ok(text)
}
