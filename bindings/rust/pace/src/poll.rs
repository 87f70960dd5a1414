//! Waiting for descriptors, which the standard library does not have. The driver in `spec-driver` compiles this file, too.

use std::os::raw::{c_int, c_short, c_ulong};

const POLLIN: c_short = 0x001;
const POLLHUP: c_short = 0x010;

#[repr(C)]
struct PollFd {
    fd: c_int,
    events: c_short,
    revents: c_short,
}

extern "C" {
    fn poll(fds: *mut PollFd, count: c_ulong, timeout_ms: c_int) -> c_int;
}

/// Waits until one of the descriptors is readable or hung up, at most `timeout_ms` milliseconds; below 0: without limit. False:
/// the time has passed, or a signal has come.
pub(crate) fn wait_readable(descriptors: &[c_int], timeout_ms: c_int) -> bool {
    let mut polled: Vec<PollFd> = descriptors.iter().map(|&fd| PollFd { fd, events: POLLIN, revents: 0 }).collect();
    // SAFETY: the array has so many elements, and nobody else uses it.
    let count = unsafe { poll(polled.as_mut_ptr(), polled.len() as c_ulong, timeout_ms) };
    count > 0 && polled.iter().any(|one| one.revents & (POLLIN | POLLHUP) != 0)
}
