// Value: the value of one setting, and how a text becomes a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "settings/table.h"

namespace pace::settings {

// The alternatives hold: text; boolean; integer, milliseconds and bytes; list.
using Value = std::variant<std::string, bool, int64_t, std::vector<std::string>>;

inline constexpr size_t kTextBytesMax = 4096;
inline constexpr size_t kListItemsMax = 256;

// Parses a text of the environment, the command line or the table's defaults. Booleans are true,
// false, yes, no, on, off, 1, 0. Milliseconds may end in ms, s, min or h. Bytes may end in KiB,
// MiB, GiB, TiB (or in KB, MB, GB, TB, which are powers of ten). Commas separate list items. The
// error has the reason but does not say where the text came from.
base::Result<Value> parse_text(const Setting& setting, std::string_view text);

// Check a whole number, a text or a list against the setting's bounds and choices.
base::Result<Value> check_number(const Setting& setting, int64_t number);
base::Result<Value> check_string(const Setting& setting, std::string_view text);
base::Result<Value> check_list(const Setting& setting, std::vector<std::string> items);

// Returns what a setting accepts: "1 .. 256 chunks", "one of error, warning", "true or false".
std::string accepted(const Setting& setting);

// Returns 8589934592 as "8 GiB". A number stays as it is if it is no multiple of a larger unit.
std::string format_bytes(int64_t bytes);

}  // namespace pace::settings
