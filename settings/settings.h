// Settings: the values of one program's table, and where each one came from.
//
//     auto loaded = settings::load(settings::daemon_table(), argc, argv, environ);
//     if (!loaded) …                      // the message names file and line, key, value and bounds
//     if (loaded->print) …                // --help and its kin: print it and end
//     const Settings& s = loaded->settings;
//     open_socket(s.text("socket"), s.milliseconds("heartbeat_ms"));
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "settings/table.h"
#include "settings/value.h"

namespace pace::settings {

class Settings {
  public:
    // Every setting at its default.
    explicit Settings(const Table& table);

    const Table& table() const { return *table_; }

    // The value of a setting. The name must be in the table and the kind must fit; a test of the
    // tree checks every name in the sources, so that a slip gives the empty value only there.
    const std::string& text(std::string_view name) const;
    bool enabled(std::string_view name) const;
    int64_t integer(std::string_view name) const;
    std::chrono::milliseconds milliseconds(std::string_view name) const;
    uint64_t bytes(std::string_view name) const;
    const std::vector<std::string>& list(std::string_view name) const;

    // "default", "/etc/pace/paced.toml:3", "PACED_SOCKET" or "--socket".
    const std::string& origin(std::string_view name) const;

    void set(const Setting& setting, Value value, std::string origin);

  private:
    struct Entry {
        Value value;
        std::string origin;
    };
    template <typename T>
    const T& get(std::string_view name) const;

    const Table* table_;
    std::map<std::string_view, Entry> entries_;
};

struct Loaded {
    Settings settings;
    std::optional<std::string> print;   // asked for help or version: print this and exit with 0
    std::vector<std::string> warnings;  // worth a log line each
};

// Defaults, then the file (the table's, or --config's, or the one in the environment's …CONFIG),
// then the environment, then the command line. `environment` is the process's environ.
base::Result<Loaded> load(const Table& table, int argc, const char* const* argv,
                          const char* const* environment);

// The table as a documented TOML file in which every line is commented out.
std::string help_config(const Table& table);

// The table as a section of docs/configuration.md.
std::string reference(const Table& table);

}  // namespace pace::settings
