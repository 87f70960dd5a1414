#include "daemon/exchange/run/told_numbers.h"

#include <span>

namespace pace::daemon {

namespace {

// The slot of the numbers. It is in phase 0, which no collective uses (collectives/slots.h).
constexpr uint32_t kNumbersSlot = 0x0FFFFFFCU;

}  // namespace

ToldNumbers::ToldNumbers(collectives::Communicator& communicator,
                         std::vector<std::vector<uint64_t>>& numbers)
    : communicator_(communicator),
      nodes_(numbers.size()),
      sent_(new collectives::Operation[nodes_]),
      heard_(new collectives::Operation[nodes_]) {
    const size_t self = communicator_.group().self;
    for (size_t node = 0; node < nodes_; ++node) {
        if (node == self) continue;
        communicator_.post_receive(heard_[node], node, kNumbersSlot,
                                   std::as_writable_bytes(std::span(numbers[node])));
        communicator_.post_send(sent_[node], node, kNumbersSlot,
                                std::as_bytes(std::span(numbers[self])));
    }
}

base::Task<> ToldNumbers::settle() {
    for (size_t node = 0; node < nodes_; ++node) {
        if (node == communicator_.group().self) continue;
        communicator_.note(co_await sent_[node].ended());
        communicator_.note(co_await heard_[node].ended());
    }
}

}  // namespace pace::daemon
