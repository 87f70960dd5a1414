// Pay: who pays for the memory that this folder makes of its own. Told how much there is of it; what it returns is kept for as long as the
// memory is there. Empty: nobody pays.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace pace::partial {

using Pay = std::function<std::shared_ptr<const void>(size_t bytes)>;

inline std::shared_ptr<const void> pay_for(size_t bytes, const Pay& pay) {
    return pay ? pay(bytes) : nullptr;
}

}  // namespace pace::partial
