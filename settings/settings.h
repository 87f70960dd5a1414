// Settings: the values of one program's table, and the source of each value.
//
//     auto loaded = settings::load(settings::daemon_table(), argc, argv, environ);
//     if (!loaded) …            // the message names file and line, key, value and bounds
//     if (loaded->print) …      // --help and similar flags: print it and end
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
    // Every setting has its default.
    explicit Settings(const Table& table);

    const Table& table() const { return *table_; }

    // Returns the value of a setting. The name must be in the table, and the kind must fit.
    // Otherwise the result is empty. A test of the source tree checks every name in the sources.
    const std::string& text(std::string_view name) const;
    bool enabled(std::string_view name) const;
    int64_t integer(std::string_view name) const;
    std::chrono::milliseconds milliseconds(std::string_view name) const;
    uint64_t bytes(std::string_view name) const;
    const std::vector<std::string>& list(std::string_view name) const;

    // Returns the source of the value: "default", "/etc/pace/paced.toml:3", "PACED_SOCKET" or
    // "--socket".
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
    // The text that --help or --version asked for. The program prints the text and exits with 0.
    std::optional<std::string> print;
    std::vector<std::string> warnings;  // each deserves a log line
};

// Applies the defaults, then the file, then the environment, then the command line. The file is
// that of --config, or that of the variable …CONFIG of the environment, or the table's.
// `environment` is the process's environ.
base::Result<Loaded> load(const Table& table, int argc, const char* const* argv,
                          const char* const* environment);

// Returns the table as a documented TOML file in which every line is commented out.
std::string help_config(const Table& table);

// Returns the table as a section of docs/configuration.md.
std::string reference(const Table& table);

}  // namespace pace::settings
