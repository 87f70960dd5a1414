// Documents: reads JSON documents of other programs; a missing field or one of another kind gives a
// fallback. Field access is shared with service/metrics; texts here are for a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/metrics/fields.h"

namespace pace::pacectl {

using metrics::Json;
using metrics::list;
using metrics::member;
using metrics::number;
using metrics::truth;

// Parses an object, or returns the reason why `text` is none.
base::Result<Json> parse_document(std::string_view text);

// Makes text fit for a terminal: control characters and bytes that are not UTF-8 become '?'.
std::string text(const Json& object, std::string_view key, std::string_view fallback = "-");
uint64_t count(const Json& object, std::string_view key);

std::string printable(std::string_view text);

// Texts for people, as "12.3 ms", "1.5 s", "4 min", or "-" below zero; and "8.0 GiB".
std::string duration_text(double milliseconds);
std::string bytes_text(double bytes);

}  // namespace pace::pacectl
