#include "transports/ucx/ucx_process.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

extern "C" {
// Declared in ucs/debug/debug.h, which does not compile as C++. The function restores the handler
// that the signal had when libucs was loaded.
void ucs_debug_disable_signal(int signal_number);
}

namespace pace::transports {

namespace {

constexpr auto* kHandlers = "UCX_HANDLE_ERRORS";
constexpr auto* kMemoryHooks = "UCX_MEM_EVENTS";

// A handler that other code has installed since must stay.
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

// The program is executed under its own path, because the kernel names a process after the last
// part of the executed path. After an upgrade, for example, the path may be another file by now, or
// no file that this process sees. The link /proc/self/exe still leads to this program then.
void execute_itself(char* const* arguments) {
    std::error_code failed;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (!failed && std::filesystem::equivalent(program, "/proc/self/exe", failed))
        execv(program.c_str(), arguments);
    execv("/proc/self/exe", arguments);
}

}  // namespace

void restart_without_ucx_effects() {
    if (std::getenv(kHandlers) != nullptr || std::getenv(kMemoryHooks) != nullptr) {
        // A process that was executed through the link is named "exe" after the link.
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
    execute_itself(pointers.data());
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
