// Pay: who pays for the memory that this folder makes of its own. Told how much there is of it; what it returns is kept for as long as the
// memory is there. Empty: nobody pays.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace pace::partial {

using Pay = std::function<std::shared_ptr<const void>(size_t bytes)>;

// The memory, which has so many bytes, with what `pay` returns.
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
