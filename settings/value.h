// Value: what one setting holds, and how text becomes one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "settings/table.h"

namespace pace::settings {

// text; boolean; integer, milliseconds and bytes; list.
using Value = std::variant<std::string, bool, int64_t, std::vector<std::string>>;

inline constexpr size_t kTextBytesMax = 4096;
inline constexpr size_t kListItemsMax = 256;

// What the environment, the command line and the table's defaults say. Booleans are true, false,
// yes, no, on, off, 1, 0; milliseconds may end in ms, s, min or h; bytes in KiB, MiB, GiB, TiB (or
// KB, MB, GB, TB, powers of ten); list items are separated by commas. Fails with the reason, without
// saying where the text came from.
base::Result<Value> parse_text(const Setting& setting, std::string_view text);

// Checks a whole number, a text or a list against the setting's bounds and choices.
base::Result<Value> check_number(const Setting& setting, int64_t number);
base::Result<Value> check_string(const Setting& setting, std::string_view text);
base::Result<Value> check_list(const Setting& setting, std::vector<std::string> items);

// "1 .. 256 chunks", "one of error, warning", "true or false": what a setting accepts.
std::string accepted(const Setting& setting);

// 8589934592 as "8 GiB"; numbers that are no round count of a larger unit stay as they are.
std::string format_bytes(int64_t bytes);

}  // namespace pace::settings
