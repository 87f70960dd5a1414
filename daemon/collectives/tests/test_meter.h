// TestMeter: a transport for tests that counts the bytes sent to each peer and forwards all calls
// to another transport.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "transports/transport.h"

namespace pace::collectives {

class TestMeter final : public transports::Transport {
  public:
    // `inner` must outlive the meter.
    explicit TestMeter(transports::Transport& inner) : inner_(inner) {}

    uint64_t bytes_sent(transports::PeerId peer) const {
        const auto found = bytes_sent_.find(peer);
        return found == bytes_sent_.end() ? 0 : found->second;
    }

    std::string_view name() const override { return inner_.name(); }
    const transports::Address& address() const override { return inner_.address(); }
    base::Result<transports::PeerId> connect(std::span<const std::byte> address) override {
        return inner_.connect(address);
    }
    void disconnect(transports::PeerId peer) override { inner_.disconnect(peer); }
    void give_up(transports::PeerId peer, const base::Error& error) override {
        inner_.give_up(peer, error);
    }
    void send(transports::PeerId peer, transports::Tag tag, std::span<const std::byte> bytes,
              transports::Completion completion) override {
        bytes_sent_[peer] += bytes.size();
        inner_.send(peer, tag, bytes, std::move(completion));
    }
    void receive(transports::PeerId peer, transports::Tag tag, std::span<std::byte> bytes,
                 transports::Completion completion) override {
        inner_.receive(peer, tag, bytes, std::move(completion));
    }
    void close_exchange(uint64_t exchange) override { inner_.close_exchange(exchange); }
    void end() override { inner_.end(); }
    void ping(transports::PeerId peer) override { inner_.ping(peer); }
    base::TimePoint heard(transports::PeerId peer) const override { return inner_.heard(peer); }
    void set_peer_lost_handler(transports::PeerLostHandler handler) override {
        inner_.set_peer_lost_handler(std::move(handler));
    }
    int event_fd() const override { return inner_.event_fd(); }
    Counters counters() const override { return inner_.counters(); }
    bool poll() override { return inner_.poll(); }
    bool arm() override { return inner_.arm(); }
    void disarm() override { inner_.disarm(); }

  private:
    transports::Transport& inner_;
    std::map<transports::PeerId, uint64_t> bytes_sent_;
};

}  // namespace pace::collectives
