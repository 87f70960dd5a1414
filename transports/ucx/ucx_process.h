// The effects of UCX on the process that loads it, and how to avoid them.
//
// In its constructor, libucs installs handlers for SIGSEGV, SIGBUS, SIGILL and SIGFPE (unless
// UCX_HANDLE_ERRORS=none). It also overwrites the first instructions of mmap, munmap, madvise and
// related functions (unless UCX_MEM_EVENTS=n). The constructor reads both variables from the
// environment at that moment. For this reason:
//   - a host that is not ours sets both variables, if unset, before it loads this library with
//     dlopen;
//   - a program of ours that links UCX calls restart_without_ucx_effects() first in its main;
//   - UcxTransport::create() calls undo_ucx_load_effects(), for a process that did neither. Signal
//     handlers can be given back. The overwritten functions cannot.
#pragma once

namespace pace::transports {

// Executes the program anew with both variables set. The process and its arguments stay the same.
// Call this function only before the process has other threads.
//
// If one of the variables is set already, the function returns and the process has the program's
// name (/proc/PID/comm). If the execution fails, the function returns and UCX's effects stay.
void restart_without_ucx_effects();

// Gives each signal whose handler lies in libucs its earlier handler back. Does nothing if one of
// the two environment variables that ask for the handlers is set. Any thread may call this function
// any number of times. Only the first call acts.
void undo_ucx_load_effects();

}  // namespace pace::transports
