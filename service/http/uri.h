// The parts of a URI, and the names that a Host header may bear. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pace::http {

// Percent-decoded; nothing if it is not well-formed, or holds a control character.
std::optional<std::string> decoded(std::string_view text);

// The name of "NAME", "NAME:PORT" or "[::1]:PORT", without brackets.
std::string_view host_name(std::string_view host_header);

// Whether it means this machine's loopback, or is `own_name`, without regard to capitals.
bool is_own_host(std::string_view host_header, std::string_view own_name);

}  // namespace pace::http
