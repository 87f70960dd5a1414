//! Memory by a descriptor, as the daemon shares it.

use std::fs::File;
use std::io;
use std::mem;
use std::os::raw::{c_char, c_int, c_long, c_uint};
use std::os::unix::io::{AsRawFd, FromRawFd, OwnedFd};

use crate::element::Element;

const MFD_CLOEXEC: c_uint = 1;
const MFD_ALLOW_SEALING: c_uint = 2;
const F_ADD_SEALS: c_int = 1033;
const F_SEAL_SEAL: c_int = 1;
const F_SEAL_SHRINK: c_int = 2;
const F_SEAL_GROW: c_int = 4;
const SC_PAGE_SIZE: c_int = 30;

extern "C" {
    fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
    fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
    fn sysconf(name: c_int) -> c_long;
}

/// A descriptor of zeroed memory for `count` elements, in whole pages, sealed as
/// [`Session::import_fd`](crate::Session::import_fd) takes it. Does not block. Linux alone.
pub fn memfd<T: Element>(count: usize) -> io::Result<OwnedFd> {
    // SAFETY: the name is a zero-terminated constant.
    let fd = unsafe { memfd_create(b"pace-trainer\0".as_ptr().cast(), MFD_CLOEXEC | MFD_ALLOW_SEALING) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nobody else's.
    let file = unsafe { File::from_raw_fd(fd) };
    file.set_len(whole_pages(count, mem::size_of::<T>())?)?;
    // SAFETY: this command takes one integer.
    if unsafe { fcntl(file.as_raw_fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file.into())
}

fn whole_pages(count: usize, element_bytes: usize) -> io::Result<u64> {
    // SAFETY: it takes a number.
    let page = unsafe { sysconf(SC_PAGE_SIZE) } as u64;
    let bytes = (count as u64).checked_mul(element_bytes as u64);
    let pages = bytes.map(|bytes| bytes / page + u64::from(bytes % page != 0));
    pages.and_then(|pages| pages.checked_mul(page)).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
}
