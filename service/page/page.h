// The page as a browser gets it: "/" and "/assets/NAME". Pure.
#pragma once

#include <string_view>

#include "service/http/message.h"

namespace pace::page {

// What the page may do: load scripts, styles and pictures from its own server, and ask that server. No other host, no inline code, no
// frame around it, and no parser of HTML for texts (the trusted types, of which it makes none).
inline constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

// `path` is decoded: "/", or "/assets/main.js". 404 for what the page does not have.
http::Response page(std::string_view path);

}  // namespace pace::page
