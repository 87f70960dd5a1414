// mistypes: which command or option of the command line there is not, and what was meant. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace pace::pacectl {

// A sentence about the first word of `arguments` (without the program's name) that is no command or
// option where it stands; empty if all are.
std::string mistyped(const CLI::App& app, std::span<const std::string_view> arguments);

}  // namespace pace::pacectl
