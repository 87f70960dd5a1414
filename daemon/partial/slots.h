// Slots: which message of a round's start exchange is which. All of them are of the one phase that
// collectives/slots.h leaves free; the upper four bits of the index tell the steps apart.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/collectives/slots.h"

namespace pace::partial {

enum class Step : uint8_t {
    arrival = 1,     // one more worker of the sender has called, by how many had before; says how
    activation = 2,  // the round starts
    agreement = 3,   // who contributes, by round of the all-gather
    terms = 4,       // what the buffers are, to a node that does not know yet
};

constexpr uint32_t slot_of(Step step, size_t index) {
    return collectives::slot(static_cast<collectives::Phase>(7),
                             (static_cast<size_t>(step) << 24U) | index);
}

}  // namespace pace::partial
