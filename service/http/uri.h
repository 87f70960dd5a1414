// The parts of a URI, and the names that a Host header may have. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pace::http {

// Percent-decodes `text`. Returns nothing if `text` is not well-formed or has a control character.
std::optional<std::string> decoded(std::string_view text);

// Returns the name of "NAME", "NAME:PORT" or "[::1]:PORT", without brackets.
std::string_view host_name(std::string_view host_header);

// Whether the header names this machine's loopback or is `own_name`. Case does not matter.
bool is_own_host(std::string_view host_header, std::string_view own_name);

}  // namespace pace::http
