// Slots: distinguishes the messages of a round's start exchange. All messages are of the one phase
// that collectives/slots.h leaves free. The upper four bits of the index distinguish the steps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/collectives/messages/slots.h"

namespace pace::partial {

enum class Step : uint8_t {
    // One more worker of the sender has called. The index is the number of earlier messages. The
    // byte says how the worker has called.
    arrival = 1,
    activation = 2,  // the round starts
    agreement = 3,   // who contributes, by round of the all-gather
    terms = 4,       // the buffers' terms, to a node that does not know them yet
};

constexpr uint32_t slot_of(Step step, size_t index) {
    return collectives::slot(static_cast<collectives::Phase>(7),
                             (static_cast<size_t>(step) << 24U) | index);
}

}  // namespace pace::partial
