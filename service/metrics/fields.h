// Fields of JSON documents that another program, maybe of another version, has written: whatever is missing or of another kind has a
// fallback. Text of a document, without what no metric needs.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace pace::metrics {

using Json = nlohmann::json;

// The document without its long lists that metrics do not use; null if `text` is no JSON object.
Json parse(std::string_view text);

// The member of an object; a null for what is missing.
const Json& member(const Json& object, std::string_view key);
// The member if it is an array, else an empty one.
const Json& list(const Json& object, std::string_view key);
std::string text(const Json& object, std::string_view key);
double number(const Json& object, std::string_view key, double fallback = 0);
bool has_number(const Json& object, std::string_view key);
bool truth(const Json& object, std::string_view key);

}  // namespace pace::metrics
