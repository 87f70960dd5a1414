// The sources of settings: file, environment, command line. Each source writes its values into
// Settings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "settings/settings.h"

namespace pace::settings {

inline constexpr size_t kFileBytesMax = 256 * 1024;

// Applies a TOML document. `file` is the document's name in messages. Hostile text gives an error.
base::Result<> apply_toml(Settings& settings, std::string_view document, std::string_view file);

// Reads the file, at most kFileBytesMax bytes, and applies it.
base::Result<> apply_file(Settings& settings, const std::string& path);

// Applies variables of the form PREFIX_NAME=value. A variable with the prefix becomes a warning if
// no setting has its name.
base::Result<> apply_environment(Settings& settings, const char* const* environment,
                                 std::vector<std::string>& warnings);

// The command line, parsed but not applied. The file that the command line names must be applied
// first.
struct Flags {
    std::optional<std::string> config;
    std::optional<std::string> print;
    std::vector<std::pair<const Setting*, std::string>> given;
};
base::Result<Flags> parse_flags(const Table& table, int argc, const char* const* argv);
base::Result<> apply_flags(Settings& settings, const Flags& flags);

// Return the names of a setting: "PACED_HEARTBEAT_MS" and "--heartbeat-ms".
std::string variable_of(const Table& table, std::string_view name);
std::string flag_of(std::string_view name);

// Returns "; did you mean 'socket'?" if a setting's name is similar to the given one. Otherwise
// returns ";".
std::string suggestion(const Table& table, std::string_view name);

}  // namespace pace::settings
