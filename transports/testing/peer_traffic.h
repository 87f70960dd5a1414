// PeerTraffic: exchanges messages with one peer without end, in both directions, and checks each
// message. It serves tests with several processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transports/transport.h"

namespace pace::transports {

class PeerTraffic {
  public:
    enum class Side : uint32_t { process = 0, test = 1 };

    PeerTraffic(Transport& transport, PeerId peer, Side side)
        : transport_(transport), peer_(peer), side_(static_cast<uint32_t>(side)) {}
    PeerTraffic(const PeerTraffic&) = delete;
    PeerTraffic& operator=(const PeerTraffic&) = delete;

    void start() {
        for (uint64_t lane = 0; lane < kLanes; ++lane) {
            send(lane);
            receive(lane);
        }
    }

    // From now on, ended operations start no new ones.
    void stop() { stopped_ = true; }

    uint64_t under_way() const { return started_ - ended_; }
    uint64_t received() const { return received_; }
    uint64_t wrong() const { return wrong_; }
    uint64_t twice() const { return twice_; }

  private:
    static constexpr uint64_t kLanes = 6;

    static size_t message_size(uint64_t exchange) {
        return exchange % 3 == 0 ? size_t{1'000'003}
                                 : (exchange % 3 == 1 ? size_t{77} : size_t{60'000});
    }

    // The byte that fills a message. Any other byte tells that a message went astray.
    static std::byte fill(uint64_t exchange, uint32_t slot) {
        return static_cast<std::byte>(exchange * 31 + slot * 7 + 1);
    }

    struct Operation {
        std::vector<std::byte> bytes;
        bool ended = false;
    };

    void send(uint64_t exchange) {
        ++started_;
        auto operation = std::make_shared<Operation>();
        operation->bytes.assign(message_size(exchange), fill(exchange, side_));
        transport_.send(peer_, {exchange, side_, 1}, operation->bytes,
                        [this, operation, exchange](base::Result<> result) {
                            end(*operation);
                            if (result && !stopped_) send(exchange + kLanes);
                        });
    }

    void receive(uint64_t exchange) {
        ++started_;
        auto operation = std::make_shared<Operation>();
        operation->bytes.resize(message_size(exchange));
        transport_.receive(peer_, {exchange, 1 - side_, 1}, operation->bytes,
                           [this, operation, exchange](base::Result<> result) {
                               end(*operation);
                               if (!result) return;
                               ++received_;
                               for (const std::byte byte : operation->bytes)
                                   wrong_ += byte != fill(exchange, 1 - side_) ? 1U : 0U;
                               if (!stopped_) receive(exchange + kLanes);
                           });
    }

    void end(Operation& operation) {
        ++ended_;
        if (operation.ended) ++twice_;
        operation.ended = true;
    }

    Transport& transport_;
    PeerId peer_;
    uint32_t side_;
    bool stopped_ = false;
    uint64_t started_ = 0;
    uint64_t ended_ = 0;
    uint64_t received_ = 0;
    uint64_t wrong_ = 0;
    uint64_t twice_ = 0;
};

}  // namespace pace::transports
