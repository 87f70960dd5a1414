// What UCX does to the process that loads it, and how that is avoided.
//
// In its constructor, libucs installs handlers for SIGSEGV, SIGBUS, SIGILL and SIGFPE (unless
// UCX_HANDLE_ERRORS=none) and overwrites the first instructions of mmap, munmap, madvise and their kin
// (unless UCX_MEM_EVENTS=n). Both are read from the environment then and there, so that:
//   - a host that is not ours sets both, if unset, before it loads this library with dlopen;
//   - a program of ours that links UCX calls restart_without_ucx_effects() first in its main;
//   - UcxTransport::create() calls undo_ucx_load_effects(), for who did neither: signal handlers can be given
//     back, the overwritten functions cannot.
#pragma once

namespace pace::transports {

// Executes the program anew, same process and arguments, with both variables set. Returns if one of them is
// set already, and the process then has the program's name (/proc/PID/comm); or if it fails, and the program is then as
// UCX left it. Only before any thread.
void restart_without_ucx_effects();

// Gives signals whose handler lies in libucs back to what they had before. Respects the two variables of
// the environment that ask for the handlers. Any thread, any number of times; only the first call acts.
void undo_ucx_load_effects();

}  // namespace pace::transports
