// The files of the page for a browser: "/" and "/assets/NAME". Pure.
#pragma once

#include <string_view>

#include "service/http/message.h"

namespace pace::page {

// What the page may do: load scripts, styles and pictures from its own server, and send requests to
// that server. The policy allows no other host, no inline code, no frame around the page, and no
// parser of HTML for texts (trusted types, of which the page makes none).
inline constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

// `path` is decoded: "/" or "/assets/main.js". Returns 404 for a path that the page does not have.
http::Response page(std::string_view path);

}  // namespace pace::page
