// OptionValue: one option of a job, as a name and a value. Programs give options in this form, and
// options travel in this form.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace pace::protocol {

// The numbers are those of pace.h.
enum class OptionKind : uint8_t { integer = 1, real = 2, text = 3, bytes = 4 };

struct OptionValue {
    std::string name;
    std::variant<int64_t, double, std::string, std::vector<uint8_t>> value;
    bool hint = false;  // a side that does not know the name ignores the option

    OptionKind kind() const { return static_cast<OptionKind>(value.index() + 1); }
    bool operator==(const OptionValue&) const = default;
};

}  // namespace pace::protocol
