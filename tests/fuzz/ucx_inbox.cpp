// Fuzzes the messages of a peer on the data plane: messages with their headers, among receives,
// sends and ends of exchanges of this node. Each operation ends exactly once, and only requested
// memory is written.
//
// Each chunk is an act (its first byte) and small numbers (the second byte). A chunk for a message
// also has the header and bytes of the message.
#include <cstring>
#include <memory>

#include "tests/fuzz/chunks.h"
#include "tests/fuzz/operations.h"
#include "transports/completion_queue.h"
#include "transports/ucx/ucx_inbox.h"
#include "transports/ucx/ucx_outbox.h"
#include "transports/ucx/ucx_peers.h"
#include "transports/ucx/ucx_worker.h"

namespace {

using namespace pace::transports;
using pace::base::make_error;
using pace::fuzz::require;
using pace::fuzz::small_options;

constexpr uint64_t kSelf = 1;
constexpr uint64_t kOther = 2;

// UCX takes the other instance for a real peer. The other instance sends the input.
class Meeting {
  public:
    Meeting(UcxWorker& self, UcxWorker& other)
        : worker_(self),
          other_(other, options(), kOther),
          peers_(self, options(), kSelf),
          outbox_(peers_, completions_, counters_, options(), kSelf),
          inbox_(peers_, outbox_, completions_, counters_, options()) {
        const auto connected = peers_.connect(other_.address());
        require(connected.ok());
        peer_ = connected->peer;
        inbox_.on_connected(peer_);
    }

    ~Meeting() {
        end_peer();
        peers_.close_all();
        for (int turn = 0; turn < 1000 && !outbox_.idle(); ++turn)
            ucp_worker_progress(worker_.handle());
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
        switch (std::to_integer<unsigned>(chunk[0]) % 8) {
            case 0:
                return receive(tag, bytes);
            case 1:
                return send(tag, bytes);
            case 2:
                return inbox_.close_exchange(exchange);
            case 3:
                return end_peer();
            case 4:
                return message(chunk.subspan(2), true);
            default:
                return message(chunk.subspan(2), false);
        }
    }

  private:
    static UcxOptions options() { return small_options<UcxOptions>(); }

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

    // Delivers the message unchanged, or with numbers so small that they fit the exchanges of this
    // node.
    void message(std::span<const std::byte> said, bool as_it_is) {
        wire::Header header{};
        std::memcpy(&header, said.data(), std::min(said.size(), sizeof(header)));
        if (!as_it_is) {
            header.instance = kOther;
            header.exchange %= 4;
            header.slot %= 4;
            header.check = 0;
            header.ticket %= 8;
            header.kind = static_cast<wire::Kind>(static_cast<uint32_t>(header.kind) % 12);
        }
        const auto bytes = said.subspan(std::min(said.size(), sizeof(header)));
        if (header.kind == wire::Kind::eager && !as_it_is) header.size = bytes.size();
        inbox_.on_message(std::as_bytes(std::span(&header, 1)), bytes);
        completions_.run();
        if (!peers_.take_failed().empty()) end_peer();
    }

    void end_peer() {
        if (gone_) return;
        const auto error = make_error(pace::base::ErrorKind::unavailable, "it is gone");
        inbox_.end_peer(peer_, error);
        outbox_.end_peer(peer_, error);
        peers_.leave(peer_);
        gone_ = true;
    }

    UcxWorker& worker_;
    UcxPeers other_;  // gives the address
    CompletionQueue completions_;
    Transport::Counters counters_;
    UcxPeers peers_;
    UcxOutbox outbox_;
    UcxInbox inbox_;
    PeerId peer_ = 0;
    bool gone_ = false;
    pace::fuzz::Operations operations_;
};

std::unique_ptr<UcxWorker> worker() {
    auto made = UcxWorker::create({});
    require(made.ok());
    return std::move(*made);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const auto self = worker();
    static const auto other = worker();
    Meeting meeting(*self, *other);
    for (const auto& chunk : pace::fuzz::chunks_of(pace::fuzz::bytes_of(data, size)))
        meeting.act(chunk);
    return 0;
}
