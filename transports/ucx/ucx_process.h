// What UCX does to the process that loads it, and how it is undone.
//
// libucs reads UCX_HANDLE_ERRORS and UCX_ERROR_SIGNALS in its constructor and then installs handlers for SIGSEGV,
// SIGBUS, SIGILL and SIGFPE; libucm later patches mmap and its kin (UCX_MEM_EVENTS). A process that links UCX
// cannot set its environment before that; one that loads it with dlopen can, and should set
//     UCX_HANDLE_ERRORS=none  UCX_MEM_EVENTS=n
// before. This is for the former, and does nothing in the latter.
#pragma once

namespace pace::transports {

// Gives signals whose handler lies in libucs back to what they had before, and forbids memory hooks that are not
// installed yet. What the operator has set in the environment by those names is respected. Any thread, any number
// of times; only the first call acts.
void undo_ucx_load_effects();

}  // namespace pace::transports
