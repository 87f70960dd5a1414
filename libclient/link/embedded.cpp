#include "libclient/link/embedded.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;
using base::UniqueFd;

namespace {

// The one entry point of libpaced.so. It returns a connected descriptor, or -1 and a message.
struct Libpaced {
    int (*embed_connect)(const char* config_file_or_null, char* error, size_t error_bytes);
};

// Returns the folder of the file that holds this code, with a slash. The file is libpace.so or the
// program into which the library is linked.
std::string own_folder() {
    Dl_info info{};
    // dladdr() needs any address in this library.
    static const char here = 0;
    if (dladdr(&here, &info) == 0 || info.dli_fname == nullptr) return "";
    const std::string file = info.dli_fname;
    const size_t slash = file.rfind('/');
    return slash == std::string::npos ? "" : file.substr(0, slash + 1);
}

std::vector<std::string> candidates() {
    const char* named = secure_getenv("PACE_LIBPACED");
    if (named != nullptr && *named != '\0') return {named};
    std::vector<std::string> files;
    if (const std::string folder = own_folder(); !folder.empty()) {
        files.push_back(folder + "libpaced.so.1");
        files.push_back(folder + "libpaced.so");
    }
    files.emplace_back("libpaced.so.1");
    files.emplace_back("libpaced.so");
    return files;
}

// libpaced brings UCX. On loading, UCX takes over SIGSEGV and related signals and rewrites the
// first instructions of mmap and munmap, unless these two variables forbid both. The process
// belongs to someone else, so the variables forbid both. A variable that the user has set is left
// as it is.
constexpr std::array kUcxOff{"UCX_HANDLE_ERRORS=none", "UCX_MEM_EVENTS=n"};

bool is_set(char** environment, std::string_view assignment) {
    const std::string_view name = assignment.substr(0, assignment.find('=') + 1);
    for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry)
        if (std::string_view(*entry).starts_with(name)) return true;
    return false;
}

// The host's threads may be reading the environment. setenv() frees what those threads read, so
// this function does not call setenv(). The function replaces the array of the environment at once
// and frees neither array.
void keep_ucx_off_this_process() {
    const std::atomic_ref<char**> current(environ);
    char** before = current.load();
    char** after = nullptr;
    do {
        size_t count = 0;
        while (before != nullptr && before[count] != nullptr) ++count;
        delete[] after;
        after = new char*[count + kUcxOff.size() + 1];
        std::copy_n(before, count, after);
        for (const char* assignment : kUcxOff)
            if (!is_set(before, assignment)) after[count++] = const_cast<char*>(assignment);
        after[count] = nullptr;
    } while (!current.compare_exchange_weak(before, after));
}

Result<Libpaced> load() {
    // std::call_once would bring libstdc++'s thread-local storage into the host's process.
    [[maybe_unused]] static const bool is_kept_off = (keep_ucx_off_this_process(), true);
    std::string reason;
    for (const std::string& file : candidates()) {
        void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            // The first reason is kept. Later candidates fail only because they are missing.
            const char* text = dlerror();
            if (reason.empty() && text != nullptr) reason = text;
            continue;
        }
        void* symbol = dlsym(library, "paced_embed_connect");
        if (symbol == nullptr)
            return make_error(ErrorKind::version,
                              "{} has no paced_embed_connect: it is not a libpaced of this version",
                              file);
        return Libpaced{reinterpret_cast<decltype(Libpaced::embed_connect)>(symbol)};
    }
    return make_error(ErrorKind::not_found,
                      "the embedded daemon's library cannot be loaded ({}); install libpaced.so, "
                      "name it in PACE_LIBPACED, or use \"unix:PATH\" with a running paced",
                      reason);
}

}  // namespace

Result<UniqueFd> connect_embedded(const std::string& config_file) {
    PACE_TRY_ASSIGN(libpaced, load());
    std::array<char, 512> message{};
    UniqueFd socket(libpaced.embed_connect(config_file.empty() ? nullptr : config_file.c_str(),
                                           message.data(), message.size()));
    message.back() = '\0';
    if (!socket.valid())
        return make_error(ErrorKind::unavailable, "the embedded daemon did not start: {}",
                          message.data());
    return socket;
}

}  // namespace pace::client
