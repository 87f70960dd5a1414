#include "transports/tls/wire/frames.h"

#include <algorithm>

#include "transports/tls/wire/little_endian.h"

namespace pace::transports::tls {

using base::ErrorKind;
using base::make_error;

namespace {

// Where the fields of a header are.
constexpr size_t kSlotAt = 4;
constexpr size_t kCheckAt = 8;
constexpr size_t kReservedAt = 12;
constexpr size_t kExchangeAt = 16;
constexpr size_t kSizeAt = 24;
constexpr size_t kTicketAt = 32;
constexpr size_t kArgumentAt = 40;

base::Error never_sent(const Frame& frame, const char* what) {
    return make_error(ErrorKind::corrupt, "a frame of kind {} with {}",
                      static_cast<uint32_t>(frame.kind), what);
}

base::Result<> check_size(const Frame& frame, size_t segment_bytes) {
    switch (frame.kind) {
        case FrameKind::offer:
            return {};
        case FrameKind::eager:
            if (frame.size > segment_bytes) return never_sent(frame, "more bytes than a segment");
            return {};
        case FrameKind::data:
            if (frame.size == 0 || frame.size > segment_bytes)
                return never_sent(frame, "no bytes, or more than a segment");
            return {};
        case FrameKind::hello:
            if (frame.size != kHelloBytes) return never_sent(frame, "another size");
            return {};
        case FrameKind::accept:
        case FrameKind::refuse:
        case FrameKind::credit:
        case FrameKind::ping:
        case FrameKind::pong:
        case FrameKind::withdrawn:
            if (frame.size != 0) return never_sent(frame, "a size");
            return {};
    }
    return make_error(ErrorKind::corrupt, "a frame of the unknown kind {}",
                      static_cast<uint32_t>(frame.kind));
}

}  // namespace

FrameBytes encode_frame(const Frame& frame) {
    FrameBytes bytes{};
    const std::span<std::byte> all(bytes);
    put_little(all, static_cast<uint32_t>(frame.kind));
    put_little(all.subspan(kSlotAt), frame.slot);
    put_little(all.subspan(kCheckAt), frame.check);
    put_little(all.subspan(kExchangeAt), frame.exchange);
    put_little(all.subspan(kSizeAt), frame.size);
    put_little(all.subspan(kTicketAt), frame.ticket);
    put_little(all.subspan(kArgumentAt), frame.argument);
    return bytes;
}

base::Result<Frame> decode_frame(std::span<const std::byte, kFrameBytes> bytes_untrusted,
                                 size_t segment_bytes) {
    const std::span<const std::byte> all(bytes_untrusted);
    Frame frame;
    frame.kind = static_cast<FrameKind>(get_little<uint32_t>(all));
    frame.slot = get_little<uint32_t>(all.subspan(kSlotAt));
    frame.check = get_little<uint32_t>(all.subspan(kCheckAt));
    frame.exchange = get_little<uint64_t>(all.subspan(kExchangeAt));
    frame.size = get_little<uint64_t>(all.subspan(kSizeAt));
    frame.ticket = get_little<uint64_t>(all.subspan(kTicketAt));
    frame.argument = get_little<uint64_t>(all.subspan(kArgumentAt));
    PACE_TRY(check_size(frame, segment_bytes));
    if (get_little<uint32_t>(all.subspan(kReservedAt)) != 0)
        return never_sent(frame, "reserved bits");
    return frame;
}

size_t payload_bytes(const Frame& frame) {
    const bool has_payload = frame.kind == FrameKind::hello || frame.kind == FrameKind::eager ||
                             frame.kind == FrameKind::data;
    return has_payload ? static_cast<size_t>(frame.size) : 0;
}

std::array<std::byte, kFrameBytes + kHelloBytes> encode_hello(const Hello& hello) {
    Frame frame;
    frame.kind = FrameKind::hello;
    frame.size = kHelloBytes;
    const FrameBytes header = encode_frame(frame);
    std::array<std::byte, kFrameBytes + kHelloBytes> bytes{};
    auto next = std::copy(header.begin(), header.end(), bytes.begin());
    next = std::copy(hello.from.begin(), hello.from.end(), next);
    std::copy(hello.to.begin(), hello.to.end(), next);
    put_little(std::span(bytes).last(sizeof(hello.number)), hello.number);
    return bytes;
}

Hello decode_hello(std::span<const std::byte, kHelloBytes> bytes) {
    Hello hello;
    const size_t id_bytes = hello.from.size();
    std::copy_n(bytes.begin(), id_bytes, hello.from.begin());
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(id_bytes), id_bytes, hello.to.begin());
    hello.number = get_little<uint64_t>(bytes.subspan(2 * id_bytes));
    return hello;
}

}  // namespace pace::transports::tls
