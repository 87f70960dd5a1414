// MatchTable: entries that wait for their other half, by (exchange, peer, slot).
//
// Each transport has two tables: receives that wait for their message, and messages that wait for
// their receive. The order is by exchange first, because closing an exchange is frequent and losing
// a peer is not.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "transports/transport.h"

namespace pace::transports {

struct MatchKey {
    uint64_t exchange = 0;
    PeerId peer = 0;
    uint32_t slot = 0;
    auto operator<=>(const MatchKey&) const = default;
};

inline MatchKey match_key(PeerId peer, const Tag& tag) {
    return {tag.exchange, peer, tag.slot};
}

template <typename T>
class MatchTable {
  public:
    // Returns false and leaves `value` untouched if the key is taken. Two messages for one slot
    // break the contract.
    bool put(const MatchKey& key, T&& value) {
        return entries_.try_emplace(key, std::move(value)).second;
    }

    std::optional<T> take(const MatchKey& key) {
        const auto entry = entries_.find(key);
        if (entry == entries_.end()) return std::nullopt;
        std::optional<T> value(std::move(entry->second));
        entries_.erase(entry);
        return value;
    }

    std::vector<T> take_exchange(uint64_t exchange) {
        std::vector<T> taken;
        auto entry = entries_.lower_bound(MatchKey{exchange, 0, 0});
        while (entry != entries_.end() && entry->first.exchange == exchange) {
            taken.push_back(std::move(entry->second));
            entry = entries_.erase(entry);
        }
        return taken;
    }

    std::vector<T> take_peer(PeerId peer) {
        std::vector<T> taken;
        for (auto entry = entries_.begin(); entry != entries_.end();) {
            if (entry->first.peer != peer) {
                ++entry;
                continue;
            }
            taken.push_back(std::move(entry->second));
            entry = entries_.erase(entry);
        }
        return taken;
    }

    bool contains(const MatchKey& key) const { return entries_.contains(key); }
    size_t size() const { return entries_.size(); }

  private:
    std::map<MatchKey, T> entries_;
};

}  // namespace pace::transports
