// Pay: charges for memory that this folder makes. It is told the number of bytes. What it returns
// is kept as long as the memory exists. An empty Pay charges nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace pace::partial {

using Pay = std::function<std::shared_ptr<const void>(size_t bytes)>;

// Returns `memory`, which has `bytes` bytes, together with what `pay` returns.
template <typename Memory>
std::shared_ptr<Memory> paid(Memory memory, size_t bytes, const Pay& pay) {
    struct Paid {
        Memory memory;
        std::shared_ptr<const void> charge;
    };
    const auto kept = std::make_shared<Paid>(Paid{std::move(memory), pay ? pay(bytes) : nullptr});
    return {kept, &kept->memory};
}

}  // namespace pace::partial
