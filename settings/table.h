// The table of a program's settings: what there is to set, of which kind, within which bounds.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace pace::settings {

enum class Kind : uint8_t { text, boolean, integer, milliseconds, bytes, list };

// The word for a kind in messages and documents.
std::string_view kind_name(Kind kind);

struct Setting {
    std::string_view name;          // lower_case, unit last
    Kind kind = Kind::text;         // what it holds
    std::string_view initial;       // the default, as one would write it on the command line
    int64_t min = 0;                // numbers: the bounds, both allowed
    int64_t max = 0;                //
    std::string_view unit = {};     // integers: what is counted, "us"
    std::string_view choices = {};  // text: the allowed words, "error|warning"; empty: any text
    std::string_view help = {};     // whole sentences, for an operator
};

struct Table {
    std::string_view program;             // "paced"
    std::string_view summary;             // one sentence on the program
    std::string_view file;                // read when it exists and no other is named
    std::string_view environment_prefix;  // "PACED_"
    std::span<const Setting> settings;
};

const Table& daemon_table();
const Table& controller_table();

// The setting of that name; null if there is none.
const Setting* find(const Table& table, std::string_view name);

// The unit of a setting as people write it; empty if it has none.
std::string_view unit_of(const Setting& setting);

}  // namespace pace::settings
