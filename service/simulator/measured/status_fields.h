// StatusFields: one object of a status document, read field by field. The document may be of
// another version, or may be forged. A field that is used must be there, of its kind and within its
// bounds. Otherwise an error says where the field is and what it has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace pace::simulator {

using Json = nlohmann::json;

class StatusFields {
  public:
    // `object` must outlive this object. `path` is its place in messages: "FILE: jobs[0]".
    StatusFields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {}

    bool has(std::string_view key) const { return find(key) != nullptr; }

    // Reads a number from 0 to `most`. Without a fallback the field must be there.
    base::Result<double> number(std::string_view key, double most,
                                std::optional<double> fallback = {}) const;
    base::Result<uint64_t> whole(std::string_view key, uint64_t most,
                                 std::optional<uint64_t> fallback = {}) const;
    base::Result<std::string> text(std::string_view key,
                                   std::optional<std::string> fallback = {}) const;

    // The object of this key. If there is none, an object without fields.
    base::Result<StatusFields> object(std::string_view key) const;
    // The objects of the list of this key. Empty without a list.
    base::Result<std::vector<StatusFields>> objects(std::string_view key) const;
    base::Result<std::vector<uint64_t>> wholes(std::string_view key, uint64_t most) const;

    base::Error error(std::string_view key, std::string_view what) const;

  private:
    const Json* find(std::string_view key) const;

    const Json& object_;
    std::string path_;
};

}  // namespace pace::simulator
