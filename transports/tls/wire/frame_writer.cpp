#include "transports/tls/wire/frame_writer.h"

#include <algorithm>
#include <utility>

namespace pace::transports::tls {

namespace {

// Memory beyond this is given back when it is not needed.
constexpr size_t kKeptBytesMax = size_t{512} * 1024;

// Makes room for whole frames, so that missing memory does not cut one.
void make_room(std::vector<std::byte>& in, size_t bytes) {
    const size_t needed = in.size() + bytes;
    if (needed > in.capacity()) in.reserve(std::max(needed, 2 * in.capacity()));
}

void append_bytes(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

void FrameWriter::append(const Frame& frame, std::span<const std::byte> payload) {
    make_room(waiting_, kFrameBytes + payload.size());
    append_bytes(waiting_, encode_frame(frame));
    append_bytes(waiting_, payload);
}

std::span<const std::byte> FrameWriter::next(size_t size_max) const {
    const auto rest = written_ < writing_.size() ? std::span(writing_).subspan(written_) : segment_;
    return rest.first(std::min(rest.size(), size_max));
}

bool FrameWriter::has_more_than(size_t size) const {
    return writing_.size() - written_ + segment_.size() > size;
}

void FrameWriter::refill() {
    writing_.swap(waiting_);
    written_ = 0;
    waiting_.clear();
    if (waiting_.capacity() > kKeptBytesMax) waiting_ = {};
    Frame frame;
    if (pong_) {
        frame.kind = FrameKind::pong;
        append_bytes(writing_, encode_frame(frame));
        pong_ = false;
    }
    if (credit_) {
        frame.kind = FrameKind::credit;
        frame.argument = *credit_;
        append_bytes(writing_, encode_frame(frame));
        credit_.reset();
    }
}

void FrameWriter::begin(const Segment& segment) {
    append_bytes(writing_, encode_frame(segment.header));
    segment_ticket_ = segment.ticket;
    segment_ = segment.bytes;
}

void FrameWriter::begin(const Hello& hello) {
    append_bytes(writing_, encode_hello(hello));
}

std::optional<uint64_t> FrameWriter::wrote(size_t size) {
    if (written_ < writing_.size()) {
        written_ += size;
        if (written_ == writing_.size()) {
            writing_.clear();
            written_ = 0;
        }
        return std::nullopt;
    }
    segment_ = segment_.subspan(size);
    if (!segment_.empty()) return std::nullopt;
    copied_ = {};
    return std::exchange(segment_ticket_, std::nullopt);
}

void FrameWriter::copy_segment(uint64_t ticket) {
    if (segment_ticket_ != ticket || !copied_.empty()) return;
    copied_.assign(segment_.begin(), segment_.end());
    segment_ = copied_;
}

}  // namespace pace::transports::tls
