#include "service/pacectl/spans/otlp_target.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace pace::pacectl {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

constexpr std::string_view kDefaultPath = "/v1/traces";
constexpr std::string_view kHeadersVariable = "OTEL_EXPORTER_OTLP_HEADERS";

bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return result;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t";
    const size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// A token of RFC 9110.
bool is_header_name(std::string_view name) {
    constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
    return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
        return is_alphanumeric(c) || kOthers.find(c) != std::string_view::npos;
    });
}

// What only the sender of the request can know.
bool is_of_request(std::string_view name) {
    constexpr std::array<std::string_view, 5> kOwn{"content-type", "content-length",
                                                   "transfer-encoding", "host", "connection"};
    return std::find(kOwn.begin(), kOwn.end(), lower(name)) != kOwn.end();
}

// None: it is not well-formed, or has a control character, which could end the header.
std::optional<std::string> percent_decoded(std::string_view text) {
    std::string result;
    for (size_t i = 0; i < text.size(); ++i) {
        unsigned byte = static_cast<unsigned char>(text[i]);
        if (text[i] == '%') {
            if (i + 2 >= text.size()) return std::nullopt;
            const char* digits = text.data() + i + 1;
            if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2)
                return std::nullopt;
            i += 2;
        }
        if ((byte < 0x20 && byte != '\t') || byte == 0x7F) return std::nullopt;
        result += static_cast<char>(byte);
    }
    return result;
}

}  // namespace

Result<std::string> otlp_url(std::string_view given) {
    const size_t colon = given.find("://");
    const std::string scheme = lower(given.substr(0, colon));
    if (colon == std::string_view::npos || (scheme != "http" && scheme != "https"))
        return make_error(ErrorKind::invalid, "the URL must begin with http:// or https://");
    if (std::any_of(given.begin(), given.end(), [](char c) { return c <= ' ' || c == 0x7F; }))
        return make_error(ErrorKind::invalid, "the URL has a blank or control character");
    const size_t host_at = colon + 3;
    const size_t path_at = std::min(given.find_first_of("/?#", host_at), given.size());
    const std::string_view host = given.substr(host_at, path_at - host_at);
    if (host.empty() || host.front() == ':')
        return make_error(ErrorKind::invalid, "the URL names no host");
    if (host.find('@') != std::string_view::npos)
        return make_error(ErrorKind::invalid,
                          "the URL must have no user or password, which others see in the list of "
                          "processes; give a header by {}",
                          kHeadersVariable);
    const std::string_view path = given.substr(path_at);
    const bool has_path = path.starts_with('/') && path != "/";
    if (has_path) return std::string(given);
    std::string url(given.substr(0, path_at));
    url += kDefaultPath;
    url += path == "/" ? std::string_view() : path;
    return url;
}

Result<std::vector<std::string>> otlp_headers(std::string_view listed) {
    std::vector<std::string> headers;
    while (!listed.empty()) {
        const size_t comma = std::min(listed.find(','), listed.size());
        const std::string_view entry = trimmed(listed.substr(0, comma));
        listed.remove_prefix(std::min(comma + 1, listed.size()));
        if (entry.empty()) continue;
        const size_t equals = entry.find('=');
        const std::string_view name = trimmed(entry.substr(0, equals));
        if (equals == std::string_view::npos || !is_header_name(name))
            return make_error(ErrorKind::invalid,
                              "entry {} of {} is no key=value with the name of a header",
                              headers.size() + 1, kHeadersVariable);
        if (is_of_request(name))
            return make_error(ErrorKind::invalid, "{} must not set the header '{}'",
                              kHeadersVariable, name);
        const auto value = percent_decoded(trimmed(entry.substr(equals + 1)));
        if (!value)
            return make_error(ErrorKind::invalid,
                              "the value of '{}' in {} is not percent-encoded text", name,
                              kHeadersVariable);
        headers.push_back(fmt::format("{}: {}", name, *value));
    }
    return headers;
}

}  // namespace pace::pacectl
