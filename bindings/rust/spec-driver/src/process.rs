//! What the standard library does not have: signals and a fork.

use std::os::raw::c_int;

const SIGUSR1: c_int = 10;

extern "C" {
    fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
    fn siginterrupt(number: c_int, is_interrupting: c_int) -> c_int;
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
}

extern "C" fn do_nothing(_: c_int) {}

/// Has SIGUSR1 do nothing but interrupt.
pub fn handle_sigusr1() {
    // SAFETY: the handler does nothing.
    unsafe {
        signal(SIGUSR1, do_nothing);
        siginterrupt(SIGUSR1, 1);
    }
}

/// Runs `tell` in a forked child, and gives the number from -128 to 127 that it told. None: the fork failed.
pub fn ask_child(tell: impl FnOnce() -> i32) -> Option<i32> {
    // SAFETY: the child only asks the library, which refuses, and ends.
    let child = unsafe { fork() };
    if child == 0 {
        unsafe { _exit(tell() & 0xff) }
    }
    let mut status = 0;
    // SAFETY: the child is this function's.
    while child > 0 && unsafe { waitpid(child, &mut status, 0) } != child {}
    let has_exited = child > 0 && status & 0x7f == 0;
    has_exited.then(|| i32::from((status >> 8) as u8 as i8))
}
