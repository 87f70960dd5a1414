// mistypes: finds an unknown command or option on the command line, and suggests what was meant.
// Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace pace::pacectl {

// A sentence about the first word of `arguments` (without the program's name) that is no command or
// option at its place; empty if there is none.
std::string mistyped(const CLI::App& app, std::span<const std::string_view> arguments);

}  // namespace pace::pacectl
