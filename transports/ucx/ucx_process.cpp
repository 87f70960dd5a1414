#include "transports/ucx/ucx_process.h"

#include <dlfcn.h>
#include <signal.h>
#include <ucm/api/ucm.h>

#include <cstdlib>
#include <mutex>
#include <string_view>

extern "C" {
// From ucs/debug/debug.h, which does not compile as C++: restores what the signal had when libucs was loaded.
void ucs_debug_disable_signal(int signal_number);
}

namespace pace::transports {

namespace {

// A handler that someone else has installed since must stay.
bool handler_is_ucx(int signal_number) {
    struct sigaction action {};
    if (sigaction(signal_number, nullptr, &action) != 0) return false;
    if ((action.sa_flags & SA_SIGINFO) == 0) return false;
    Dl_info info{};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the union of handlers is an address to look up.
    if (dladdr(reinterpret_cast<void*>(action.sa_sigaction), &info) == 0) return false;
    return info.dli_fname != nullptr &&
           std::string_view(info.dli_fname).find("libucs") != std::string_view::npos;
}

}  // namespace

void undo_ucx_load_effects() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (std::getenv("UCX_HANDLE_ERRORS") == nullptr &&
            std::getenv("UCX_ERROR_SIGNALS") == nullptr) {
            for (const int signal_number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
                if (handler_is_ucx(signal_number)) ucs_debug_disable_signal(signal_number);
            }
        }
        if (std::getenv("UCX_MEM_EVENTS") == nullptr) ucm_global_opts.enable_events = 0;
    });
}

}  // namespace pace::transports
