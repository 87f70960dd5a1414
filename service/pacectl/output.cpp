#include "service/pacectl/output.h"

#include <cerrno>
#include <chrono>
#include <cstdio>

#include "libclient/tool_link.h"

namespace pace::pacectl {

namespace {

// The daemon waits this long for its controller, and a little more.
constexpr auto kPatience = std::chrono::seconds(5);

}  // namespace

int say_error(const base::Error& error) {
    const std::string message = printable(error.message);
    std::fprintf(stderr, "pacectl: %s\n", message.c_str());
    return 1;
}

int print(std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!written || std::fflush(stdout) != 0)
        return say_error(base::make_errno_error(errno, "write to standard output"));
    return 0;
}

base::Result<std::string> fetch(const client::Endpoint& endpoint, std::string_view what) {
    PACE_TRY_ASSIGN(link, client::ToolLink::open(endpoint, kPatience));
    return link.query(what);
}

base::Result<Json> fetch_document(const client::Endpoint& endpoint, std::string_view what) {
    PACE_TRY_ASSIGN(document, fetch(endpoint, what));
    return parse_document(document);
}

}  // namespace pace::pacectl
