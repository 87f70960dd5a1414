// OptionValue: one option of a job as a name and a value, as programs give it and as it travels.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace pace::protocol {

// As in pace.h.
enum class OptionKind : uint8_t { integer = 1, real = 2, text = 3, bytes = 4 };

struct OptionValue {
    std::string name;
    std::variant<int64_t, double, std::string, std::vector<uint8_t>> value;
    bool hint = false;  // who does not know the name ignores it

    OptionKind kind() const { return static_cast<OptionKind>(value.index() + 1); }
    bool operator==(const OptionValue&) const = default;
};

}  // namespace pace::protocol
