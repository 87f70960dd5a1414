#include "libclient/embedded.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <vector>

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;
using base::UniqueFd;

namespace {

// The one entry of libpaced.so: a connected descriptor, or -1 with a message.
struct Libpaced {
    int (*embed_connect)(const char* config_file_or_null, char* error, size_t error_bytes);
};

// The folder of the file that holds this code (libpace.so, or the program it is linked into), with
// a slash.
std::string own_folder() {
    Dl_info info{};
    // Any address in this library will do.
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
        files.push_back(folder + "libpaced.so.0");
        files.push_back(folder + "libpaced.so");
    }
    files.emplace_back("libpaced.so.0");
    files.emplace_back("libpaced.so");
    return files;
}

// libpaced brings UCX, which on loading takes over SIGSEGV and its kin and rewrites the first instructions of
// mmap and munmap, unless these two say no. The process is someone else's, so they do; who set them knows better.
void keep_ucx_off_this_process() {
    constexpr int kKeep = 0;
    setenv("UCX_HANDLE_ERRORS", "none", kKeep);
    setenv("UCX_MEM_EVENTS", "n", kKeep);
}

Result<Libpaced> load() {
    keep_ucx_off_this_process();
    std::string reason;
    for (const std::string& file : candidates()) {
        void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            // The first reason is kept: later candidates only fail as missing.
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
