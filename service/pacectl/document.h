// Reading JSON documents of other programs: whatever is missing or of another kind has a fallback. How fields
// are read they share with service/metrics; texts are for a terminal here.
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

// An object, or the reason why `text` is none.
base::Result<Json> parse_document(std::string_view text);

// Texts are made fit for a terminal: control characters, and what is no UTF-8, become '?'.
std::string text(const Json& object, std::string_view key, std::string_view fallback = "-");
uint64_t count(const Json& object, std::string_view key);

std::string printable(std::string_view text);

// For people: "12.3 ms", "1.5 s", "4 min"; "-" below zero. "8.0 GiB".
std::string duration_text(double milliseconds);
std::string bytes_text(double bytes);

}  // namespace pace::pacectl
