// Fuzzes what an authenticated peer says on the encrypted data plane: its address, and its frames
// among receives, sends and ends of exchanges of this node. Each operation ends exactly once, and
// only requested memory is written. What is read and written again is the same.
//
// Each chunk is an act (its first byte) and small numbers (the second byte). A chunk for a frame
// also has the header and bytes of the frame.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/fuzz/chunks.h"
#include "tests/fuzz/operations.h"
#include "transports/completion_queue.h"
#include "transports/tls/links/tls_inbox.h"
#include "transports/tls/links/tls_links.h"
#include "transports/tls/links/tls_outbox.h"
#include "transports/tls/wire/frames.h"
#include "transports/tls/wire/tls_address.h"

namespace {

using namespace pace::transports;
using namespace pace::transports::tls;
using pace::base::make_error;
using pace::fuzz::require;
using pace::fuzz::small_options;

constexpr size_t kSegmentBytes = 128;
constexpr InstanceId kSelf = {std::byte{1}};
constexpr InstanceId kOther = {std::byte{2}};

std::vector<IpEndpoint> endpoints() {
    IpEndpoint endpoint;
    endpoint.port = 1;
    return {endpoint};
}

// A node and its peer, without a connection.
class Meeting {
  public:
    Meeting() {
        const auto connected = links_.connect(
            encode_address({kOther, links_.eager_window(), kSegmentBytes, endpoints()}));
        require(connected.ok());
        peer_ = *connected;
    }

    ~Meeting() {
        end_peer();
        while (completions_.run()) {
        }
        operations_.require_ended();
    }

    void act(std::span<const std::byte> chunk) {
        if (chunk.size() < 2) return;
        const auto numbers = std::to_integer<uint8_t>(chunk[1]);
        const uint64_t exchange = numbers % 4;
        const Tag tag{exchange, numbers / 4U % 4U, 0};
        const size_t bytes = size_t{numbers} / 16U * 8U;
        switch (std::to_integer<unsigned>(chunk[0]) % 9) {
            case 0:
                return receive(tag, bytes);
            case 1:
                return send(tag, bytes);
            case 2:
                return close_exchange(exchange);
            case 3:
                return end_peer();
            case 4:
                return frame(chunk.subspan(2), true);
            case 5:
                return write(chunk.size());
            default:
                return frame(chunk.subspan(2), false);
        }
    }

  private:
    static TlsOptions options() { return small_options<TlsOptions>(); }

    void receive(const Tag& tag, size_t bytes) {
        if (gone_) return;
        auto& operation = operations_.begin(bytes);
        inbox_.receive({peer_, tag, operation.bytes, operation.completion()});
    }

    void send(const Tag& tag, size_t bytes) {
        if (gone_) return;
        auto& operation = operations_.begin(bytes);
        outbox_.send(peer_, tag, operation.bytes, operation.completion());
    }

    void close_exchange(uint64_t exchange) {
        inbox_.close_exchange(exchange);
        outbox_.close_exchange(exchange);
    }

    // Takes the frame as it is, or with numbers so small that they fit those of this node.
    void frame(std::span<const std::byte> said, bool as_it_is) {
        if (gone_ || said.size() < kFrameBytes) return;
        auto decoded = decode_frame(said.first<kFrameBytes>(), kSegmentBytes);
        if (!decoded) return;
        const FrameBytes again = encode_frame(*decoded);
        require(std::equal(again.begin(), again.end(), said.begin()));
        if (!as_it_is) {
            decoded->exchange %= 4;
            decoded->slot %= 4;
            decoded->check = 0;
            decoded->ticket %= 8;
        }
        auto bytes = said.subspan(kFrameBytes);
        std::vector<std::byte> payload(payload_bytes(*decoded));
        std::copy_n(bytes.begin(), std::min(bytes.size(), payload.size()), payload.begin());
        TlsLink& link = links_.link(peer_);
        if (decoded->kind == FrameKind::data) {
            data(link, *decoded, payload);
        } else {
            inbox_.on_frame(link, *decoded, payload);
        }
        completions_.run();
        if (!links_.take_failed().empty()) end_peer();
    }

    // The data comes in two pieces, as records do.
    void data(TlsLink& link, const Frame& frame, std::span<const std::byte> payload) {
        if (!inbox_.on_data(link, frame)) return;
        size_t read = 0;
        for (const size_t size : {payload.size() / 2, payload.size() - payload.size() / 2}) {
            if (size == 0) continue;
            const auto room = inbox_.room_for(link, frame, read);
            require(room.size() == payload.size() - read);
            std::copy_n(payload.begin() + static_cast<std::ptrdiff_t>(read), size, room.begin());
            inbox_.took_data(frame, size);
            read += size;
        }
    }

    // The frames of this node go nowhere.
    void write(size_t size) {
        if (gone_) return;
        FrameWriter& writer = links_.link(peer_).output.writer;
        if (writer.next().empty()) writer.refill();
        const size_t count = writer.next(size).size();
        if (count > 0) writer.wrote(count);
    }

    void end_peer() {
        if (gone_) return;
        const auto error = make_error(pace::base::ErrorKind::unavailable, "it is gone");
        inbox_.end_peer(peer_, error);
        outbox_.end_peer(peer_, error, true);
        links_.leave(peer_);
        gone_ = true;
    }

    CompletionQueue completions_;
    Transport::Counters counters_;
    TlsLinks links_{options(), kSelf, endpoints()};
    TlsOutbox outbox_{links_, completions_, counters_, options()};
    TlsInbox inbox_{links_, outbox_, completions_, counters_, options()};
    PeerId peer_ = 0;
    bool gone_ = false;
    pace::fuzz::Operations operations_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto input = pace::fuzz::bytes_of(data, size);
    if (const auto address = parse_address(input); address.ok())
        require(encode_address(*address) == input);
    Meeting meeting;
    for (const auto& chunk : pace::fuzz::chunks_of(input)) meeting.act(chunk);
    return 0;
}
