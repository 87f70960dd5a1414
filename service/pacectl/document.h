// Reading JSON documents of other programs: whatever is missing or of another kind has a fallback.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace pace::pacectl {

using Json = nlohmann::json;

// An object, or the reason why `text` is none.
base::Result<Json> parse_document(std::string_view text);

// The member of an object; a null for what is missing.
const Json& member(const Json& object, std::string_view key);

// Texts are made fit for a terminal: control characters become '?'.
std::string text(const Json& object, std::string_view key, std::string_view fallback = "-");
double number(const Json& object, std::string_view key, double fallback = 0);
uint64_t count(const Json& object, std::string_view key);
bool truth(const Json& object, std::string_view key);

// The member if it is an array, else an empty one.
const Json& list(const Json& object, std::string_view key);

std::string printable(std::string_view text);

// For people: "12.3 ms", "1.5 s", "4 min"; "-" below zero. "8.0 GiB".
std::string duration_text(double milliseconds);
std::string bytes_text(double bytes);

}  // namespace pace::pacectl
