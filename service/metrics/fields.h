// Fields of JSON documents that another program has written, possibly another version. A field that
// is missing or of another kind has a fallback. Parsing leaves out what no metric needs.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace pace::metrics {

using Json = nlohmann::json;

// Returns the document without the long lists that metrics do not use. Returns null if `text` is
// not a JSON object.
Json parse(std::string_view text);

// The member of an object, or a null if it is missing.
const Json& member(const Json& object, std::string_view key);
// The member if it is an array, otherwise an empty array.
const Json& list(const Json& object, std::string_view key);
std::string text(const Json& object, std::string_view key);
double number(const Json& object, std::string_view key, double fallback = 0);
bool has_number(const Json& object, std::string_view key);
bool truth(const Json& object, std::string_view key);

}  // namespace pace::metrics
