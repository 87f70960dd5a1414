// Strangers: messages from instances that are not connected yet. A peer may know this node before
// this node knows the peer.
//
// The memory is bounded, because anyone may connect. The bytes of each instance are bounded, and
// the number of instances is bounded. The oldest instance is forgotten first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "transports/ucx/wire.h"

namespace pace::transports {

class Strangers {
  public:
    static constexpr size_t kInstancesMax = 256;
    static constexpr size_t kBytesMax = size_t{1024} * 1024;  // of one instance

    struct Message {
        wire::Header header;
        std::vector<std::byte> bytes;
    };

    struct Stranger {
        std::vector<Message> messages;
        size_t bytes = 0;
        bool overflowed = false;  // a message is missing
    };

    void keep(const wire::Header& header, std::span<const std::byte> bytes) {
        // Only messages wait for a receive. The other kinds mean nothing between instances that do
        // not know each other.
        if (header.kind != wire::Kind::eager && header.kind != wire::Kind::offer) return;
        auto [entry, is_new] = strangers_.try_emplace(header.instance);
        if (is_new) {
            order_.push_back(header.instance);
            forget_oldest();
        }
        Stranger& stranger = entry->second;
        stranger.bytes += sizeof(Message) + bytes.size();
        if (stranger.bytes > kBytesMax) {
            stranger = Stranger{{}, stranger.bytes, true};
            return;
        }
        stranger.messages.push_back(Message{header, {bytes.begin(), bytes.end()}});
    }

    Stranger take(uint64_t instance) {
        const auto entry = strangers_.find(instance);
        if (entry == strangers_.end()) return {};
        Stranger stranger = std::move(entry->second);
        strangers_.erase(entry);
        std::erase(order_, instance);
        return stranger;
    }

  private:
    void forget_oldest() {
        if (order_.size() <= kInstancesMax) return;
        strangers_.erase(order_.front());
        order_.pop_front();
    }

    std::unordered_map<uint64_t, Stranger> strangers_;
    std::deque<uint64_t> order_;
};

}  // namespace pace::transports
