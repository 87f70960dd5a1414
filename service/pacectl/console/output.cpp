#include "service/pacectl/console/output.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <utility>

#include "service/pacectl/console/exit_code.h"

namespace pace::pacectl {

using base::ErrorKind;
using base::Result;

namespace {

// A little longer than the daemon waits for its controller.
constexpr auto kPatience = std::chrono::seconds(6);

bool is_of_link(ErrorKind kind) {
    return exit_code_of(kind) == kNoDaemon;
}

}  // namespace

int say_error(const base::Error& error) {
    say(error.message);
    return exit_code_of(error.kind);
}

int say_local_error(const base::Error& error) {
    say(error.message);
    return error.kind == ErrorKind::denied    ? kRefused
           : error.kind == ErrorKind::invalid ? kWrongUse
                                              : kNo;
}

void say(std::string_view text) {
    const std::string message = printable(text);
    std::fprintf(stderr, "pacectl: %s\n", message.c_str());
}

int print(std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (written && std::fflush(stdout) == 0) return kDone;
    say(base::make_errno_error(errno, "write to standard output").message);
    return kNo;
}

std::string json_text(const Json& document) {
    return document.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string json_line(const Json& document) {
    return document.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

Result<client::ToolLink> connect(const client::Endpoint& endpoint) {
    auto link = client::ToolLink::open(endpoint, kPatience);
    if (!link && link.error().kind == ErrorKind::not_found)
        link.error().kind = ErrorKind::unavailable;
    return link;
}

Result<std::string> fetch(const client::Endpoint& endpoint, std::string_view what) {
    PACE_TRY_ASSIGN(link, connect(endpoint));
    auto document = link.query(what);
    if (!document && what == "status" && !is_of_link(document.error().kind))
        document.error().kind = ErrorKind::no_controller;
    return document;
}

Result<Json> fetch_document(const client::Endpoint& endpoint, std::string_view what) {
    PACE_TRY_ASSIGN(document, fetch(endpoint, what));
    return parse_document(document);
}

}  // namespace pace::pacectl
