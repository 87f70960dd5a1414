#include "libclient/link/endpoint.h"

#include <sys/un.h>

#include <cstdlib>

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::string_view kEmbeddedPrefix = "embedded:";

// The kernel's field is one byte longer, for the terminating zero.
constexpr size_t kSocketPathMax = sizeof(sockaddr_un::sun_path) - 1;

Result<Endpoint> parse_named(std::string_view name, std::string_view text) {
    if (text.starts_with(kEmbeddedPrefix))
        return Endpoint{EndpointKind::embedded, std::string(text.substr(kEmbeddedPrefix.size()))};
    if (!text.starts_with(kUnixPrefix))
        return make_error(ErrorKind::invalid,
                          "{} is \"{}\"; write \"unix:PATH\", \"embedded:\" or \"embedded:FILE\"",
                          name, text);
    const std::string_view path = text.substr(kUnixPrefix.size());
    if (path.empty())
        return make_error(ErrorKind::invalid,
                          "{} is \"{}\" without a path; write the socket's, as in \"unix:{}\"",
                          name, text, kDefaultSocket);
    if (path.size() > kSocketPathMax)
        return make_error(ErrorKind::invalid,
                          "{} names a socket path of {} bytes; the system allows {}: choose a "
                          "shorter one",
                          name, path.size(), kSocketPathMax);
    return Endpoint{EndpointKind::unix_socket, std::string(path)};
}

}  // namespace

std::string Endpoint::text() const {
    return std::string(kind == EndpointKind::embedded ? kEmbeddedPrefix : kUnixPrefix) + path;
}

Result<Endpoint> parse_endpoint(std::string_view text) {
    return parse_named("endpoint", text);
}

Result<Endpoint> resolve_endpoint(const char* text) {
    if (text != nullptr) return parse_named("endpoint", text);
    // secure_getenv: nobody may lead a set-user-id trainer to another user's daemon or library.
    const char* environment = secure_getenv("PACE_ENDPOINT");
    if (environment != nullptr && *environment != '\0')
        return parse_named("PACE_ENDPOINT", environment);
    return Endpoint{EndpointKind::unix_socket, std::string(kDefaultSocket)};
}

}  // namespace pace::client
