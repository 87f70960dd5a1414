#include "tests/world/clients/garbage.h"

#include <cstring>

#include "protocol/ring.h"

namespace pace::world {

using protocol::SubmissionEntry;

namespace {

void fill(std::span<std::byte> bytes, Clockwork& clockwork) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(clockwork.below(256));
}

class Scribbler {
  public:
    Scribbler(std::span<std::byte> ring, Clockwork& clockwork)
        : ring_(ring),
          clockwork_(clockwork),
          header_(*reinterpret_cast<protocol::RingHeader*>(ring.data())),
          layout_{header_.ring_slots, header_.member_capacity} {}

    // The tail claims more entries than there are slots.
    void jump() { header_.submission.tail.value += layout_.slots + 1 + some(1U << 30U); }
    void submit_unknown_verb() {
        SubmissionEntry& entry = next();
        fill({reinterpret_cast<std::byte*>(&entry), sizeof(entry)}, clockwork_);
        entry.verb = static_cast<protocol::Verb>(0xFF);
        publish();
    }
    void submit_unknown_buffer() {
        SubmissionEntry& entry = next();
        entry = SubmissionEntry{};
        entry.id = 1 + some(UINT32_MAX);
        entry.verb = protocol::Verb::reduce;
        entry.slice_count = 1;
        entry.slices[0] = {some(UINT32_MAX), 1 + some(UINT32_MAX), 0, 1 + some(100)};
        publish();
    }
    // A request of a number that is in flight.
    void submit_again() {
        const uint32_t last = header_.submission.tail.value - 1;
        std::memcpy(static_cast<void*>(&next()), &at(last), sizeof(SubmissionEntry));
        publish();
    }
    // What the daemon itself wrote there, and never reads.
    void overwrite() {
        header_.submission.head.value = some(UINT32_MAX);
        header_.completion.head.value = some(UINT32_MAX);
        header_.completion.consumer_sleeps.value = some(3);
        fill(ring_.subspan(layout_.waits(), layout_.members() - layout_.waits()), clockwork_);
    }
    bool is_all_taken() const {
        return header_.submission.head.value == header_.submission.tail.value &&
               header_.completion.head.value == header_.completion.tail.value;
    }

  private:
    uint32_t some(uint32_t bound) { return static_cast<uint32_t>(clockwork_.below(bound)); }
    SubmissionEntry& at(uint32_t index) {
        auto* const entries =
            reinterpret_cast<SubmissionEntry*>(ring_.data() + layout_.submissions());
        return entries[index % layout_.slots];
    }
    SubmissionEntry& next() { return at(header_.submission.tail.value); }
    void publish() { header_.submission.tail.value += 1; }

    std::span<std::byte> ring_;
    Clockwork& clockwork_;
    protocol::RingHeader& header_;
    protocol::RingLayout layout_;
};

}  // namespace

void write_garbage(std::span<std::byte> ring, Clockwork& clockwork, bool in_call) {
    Scribbler scribbler(ring, clockwork);
    switch (clockwork.below(5)) {
        case 0:
            return scribbler.jump();
        case 1:
            return scribbler.submit_unknown_verb();
        case 2:
            return scribbler.submit_unknown_buffer();
        case 3:
            if (in_call && scribbler.is_all_taken()) scribbler.submit_again();
            return;
        default:
            return scribbler.overwrite();
    }
}

}  // namespace pace::world
