#include "transports/tls/links/tls_reader.h"

#include <algorithm>

#include "base/attempt.h"

namespace pace::transports::tls {

using base::ErrorKind;
using base::make_error;
using Moved = TlsConnection::Moved;
using Outcome = TlsConnection::Outcome;

TlsReader::TlsReader(TlsLinks& links, TlsInbox& inbox, size_t segment_bytes)
    : links_(links),
      inbox_(inbox),
      segment_bytes_(segment_bytes),
      unwanted_(TlsConnection::kRecordBytes) {}

bool TlsReader::read(TlsLink& link, size_t bytes_max) {
    size_t moved = 0;
    TlsConnection& connection = *link.in.connection;
    while (moved < bytes_max && connection.may_read() && !link.error) {
        Moved step;
        const bool had_memory =
            base::attempt([&] { step = link.in.frame ? read_payload(link) : read_header(link); });
        if (!had_memory) links_.fail(link, base::out_of_memory());
        if (step.outcome == Outcome::failed)
            links_.fail(link, make_error(ErrorKind::unavailable, "{}", connection.error()));
        if (step.outcome != Outcome::moved) break;
        moved += step.bytes;
    }
    if (moved > 0) link.heard = base::now();
    return moved > 0;
}

Moved TlsReader::read_header(TlsLink& link) {
    WayIn& in = link.in;
    const Moved step = in.connection->read(std::span(in.header).subspan(in.header_bytes));
    in.header_bytes += step.bytes;
    if (in.header_bytes < kFrameBytes) return step;
    in.header_bytes = 0;
    auto frame = decode_frame(in.header, segment_bytes_);
    if (!frame) {
        links_.fail(link, make_error(ErrorKind::unavailable, "it was given up: it sent {}",
                                     frame.error().message));
        return step;
    }
    in.frame = *frame;
    in.payload_read = 0;
    if (frame->kind == FrameKind::data) {
        in.wanted = inbox_.on_data(link, *frame);
    } else {
        in.payload.resize(payload_bytes(*frame));
        if (in.payload.empty()) take_frame(link);
    }
    return step;
}

Moved TlsReader::read_payload(TlsLink& link) {
    WayIn& in = link.in;
    const size_t rest = payload_bytes(*in.frame) - in.payload_read;
    const bool is_data = in.frame->kind == FrameKind::data;
    const Moved step =
        is_data ? read_data(link, rest) : in.connection->read(std::span(in.payload).last(rest));
    in.payload_read += step.bytes;
    if (step.bytes < rest) return step;
    if (is_data) {
        in.frame.reset();
    } else {
        take_frame(link);
    }
    return step;
}

Moved TlsReader::read_data(TlsLink& link, size_t rest) {
    WayIn& in = link.in;
    std::span<std::byte> room;
    if (in.wanted) room = inbox_.room_for(link, *in.frame, in.payload_read);
    // Data that is unwanted stays so: its ticket may be one that is given to a receive meanwhile.
    in.wanted = !room.empty();
    if (!in.wanted)
        return in.connection->read(std::span(unwanted_).first(std::min(rest, unwanted_.size())));
    const Moved step = in.connection->read(room);
    if (step.bytes > 0) inbox_.took_data(*in.frame, step.bytes);
    return step;
}

void TlsReader::take_frame(TlsLink& link) {
    const Frame frame = *link.in.frame;
    link.in.frame.reset();
    inbox_.on_frame(link, frame, link.in.payload);
}

}  // namespace pace::transports::tls
