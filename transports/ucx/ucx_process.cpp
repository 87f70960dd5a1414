#include "transports/ucx/ucx_process.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

extern "C" {
// From ucs/debug/debug.h, which does not compile as C++: restores what the signal had when libucs was
// loaded.
void ucs_debug_disable_signal(int signal_number);
}

namespace pace::transports {

namespace {

constexpr auto* kHandlers = "UCX_HANDLE_ERRORS";
constexpr auto* kMemoryHooks = "UCX_MEM_EVENTS";

// A handler that someone else has installed since must stay.
bool handler_is_ucx(int signal_number) {
    struct sigaction action {};
    if (sigaction(signal_number, nullptr, &action) != 0) return false;
    if ((action.sa_flags & SA_SIGINFO) == 0) return false;
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(action.sa_sigaction), &info) == 0) return false;
    return info.dli_fname != nullptr &&
           std::string_view(info.dli_fname).find("libucs") != std::string_view::npos;
}

std::vector<std::string> own_arguments() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> arguments;
    for (std::string argument; std::getline(file, argument, '\0');)
        arguments.push_back(std::move(argument));
    return arguments;
}

}  // namespace

void restart_without_ucx_effects() {
    if (std::getenv(kHandlers) != nullptr || std::getenv(kMemoryHooks) != nullptr) {
        // The kernel has named the process after the link that it was started by, "exe".
        prctl(PR_SET_NAME, program_invocation_short_name);
        return;
    }
    std::vector<std::string> arguments = own_arguments();
    if (arguments.empty()) return;
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    setenv(kHandlers, "none", 0);
    setenv(kMemoryHooks, "n", 0);
    execv("/proc/self/exe", pointers.data());
}

void undo_ucx_load_effects() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (std::getenv(kHandlers) != nullptr || std::getenv("UCX_ERROR_SIGNALS") != nullptr)
            return;
        for (const int signal_number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
            if (handler_is_ucx(signal_number)) ucs_debug_disable_signal(signal_number);
        }
    });
}

}  // namespace pace::transports
