// FrameWriter: the bytes that wait to be written on one connection, in their order.
//
// Frames without much payload are copied and written together. A segment of a large message is
// written from the user's memory, behind its header. Frames that come while a segment is being
// written go out behind the segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transports/tls/wire/frames.h"

namespace pace::transports::tls {

class FrameWriter {
  public:
    // One segment of the send `ticket`.
    struct Segment {
        uint64_t ticket = 0;
        Frame header;
        std::span<const std::byte> bytes;
    };

    void append(const Frame& frame, std::span<const std::byte> payload = {});
    // These two say the newest only, however often they are called.
    void append_pong() { pong_ = true; }
    void append_credit(uint64_t taken) { credit_ = taken; }

    // The number of bytes that wait for refill().
    size_t waiting() const { return waiting_.size(); }
    bool idle() const { return next().empty() && waiting_.empty() && !pong_ && !credit_; }

    // What comes next, at most `size_max` bytes, the same until wrote() is called. Empty: refill()
    // first.
    std::span<const std::byte> next(size_t size_max = SIZE_MAX) const;
    // Whether more than `size` bytes can be written without refill().
    bool has_more_than(size_t size) const;

    // Makes everything that waits the next to be written. Call this method when next() is empty.
    void refill();
    // Begins the segment behind what refill() took. Call this method after refill(), at most once.
    void begin(const Segment& segment);
    // The hello comes before all else.
    void begin(const Hello& hello);

    // `size` bytes of next() are written. Returns the segment's ticket when all of the segment is.
    std::optional<uint64_t> wrote(size_t size);

    // The memory of this segment is needed elsewhere. Copies what is not written yet.
    void copy_segment(uint64_t ticket);

  private:
    std::vector<std::byte> waiting_;
    bool pong_ = false;
    std::optional<uint64_t> credit_;

    std::vector<std::byte> writing_;
    size_t written_ = 0;
    std::optional<uint64_t> segment_ticket_;
    std::span<const std::byte> segment_;  // what of it is not written
    std::vector<std::byte> copied_;       // what segment_ refers to after copy_segment()
};

}  // namespace pace::transports::tls
