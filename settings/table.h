// The table of a program's settings: the settings, their kinds and their bounds.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace pace::settings {

enum class Kind : uint8_t { text, boolean, integer, milliseconds, bytes, list };

// Returns the word for a kind in messages and documents.
std::string_view kind_name(Kind kind);

struct Setting {
    std::string_view name;     // lower_case, unit last
    Kind kind = Kind::text;    // the kind of its value
    std::string_view initial;  // the default, as text on the command line
    // Numbers: the bounds. Both bounds are allowed values.
    int64_t min = 0;
    int64_t max = 0;
    std::string_view unit = {};     // integers: the unit, "us"
    std::string_view choices = {};  // text: the allowed words, "error|warning"; empty: any text
    std::string_view help = {};     // whole sentences, for an operator
};

struct Table {
    std::string_view program;             // "paced"
    std::string_view summary;             // one sentence on the program
    std::string_view file;                // read if it exists and no other file is named
    std::string_view environment_prefix;  // "PACED_"
    std::span<const Setting> settings;
};

const Table& daemon_table();
const Table& controller_table();

// Returns the setting of that name, or null if there is none.
const Setting* find(const Table& table, std::string_view name);

// Returns the unit of a setting as people write it, or an empty text if it has none.
std::string_view unit_of(const Setting& setting);

}  // namespace pace::settings
