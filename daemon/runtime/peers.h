// Peers: the other daemons, by the controller's node numbers, and their connections in the
// transport.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "protocol/options/limits.h"
#include "transports/transport.h"

namespace pace::daemon {

using NodeId = uint32_t;

class Peers {
  public:
    explicit Peers(transports::Transport& transport) : transport_(transport) {}

    // The controller has named a node and its address. A new address replaces the old connection.
    // `key` is of this pair of nodes; empty: the controller gives none. Fails if the transport
    // cannot use the key.
    base::Result<> know(NodeId node, std::string name, std::vector<std::byte> address,
                        std::span<const std::byte> key = {}) {
        Entry& entry = entries_[node];
        if (entry.address != address) {
            disconnect(entry);
            forget_keys(node, entry);
            entry.cut = false;
        }
        entry.name = std::move(name);
        entry.address = std::move(address);
        entry.named = true;
        base::Result<> usable;
        if (key.size() == protocol::kPairKeyBytes)
            usable = transport_.add_key(entry.address, pair_key_of(key));
        connect_early(node);
        return usable;
    }

    // From now on, nodes that know() does not name again are unnamed().
    void expect_names() {
        for (auto& [node, entry] : entries_) entry.named = false;
    }
    std::vector<NodeId> unnamed() const {
        std::vector<NodeId> nodes;
        for (const auto& [node, entry] : entries_)
            if (!entry.named) nodes.push_back(node);
        return nodes;
    }

    // Ends all operations with the node, and forgets it.
    void forget(NodeId node) {
        const auto entry = entries_.find(node);
        if (entry == entries_.end()) return;
        disconnect(entry->second);
        forget_keys(node, entry->second);
        entries_.erase(entry);
    }
    void forget_all() {
        while (!entries_.empty()) forget(entries_.begin()->first);
    }

    // Ends all operations with the node, and connects to it anew.
    void reconnect(NodeId node) {
        const auto entry = entries_.find(node);
        if (entry == entries_.end()) return;
        disconnect(entry->second);
        connect_early(node);
    }

    // The connection to the node, made now if there is none. An error while nothing comes from the
    // node.
    base::Result<transports::PeerId> peer(NodeId node) {
        const auto entry = entries_.find(node);
        if (entry == entries_.end())
            return base::make_error(base::ErrorKind::unavailable, "node {} is not known (any more)",
                                    node);
        if (entry->second.cut)
            return base::make_error(base::ErrorKind::unavailable, "no bytes come from node '{}'",
                                    entry->second.name);
        return connection(node);
    }

    // As peer(), also while nothing comes from the node: for code that finds out whether it is
    // there.
    base::Result<transports::PeerId> connection(NodeId node) {
        const auto entry = entries_.find(node);
        if (entry == entries_.end())
            return base::make_error(base::ErrorKind::unavailable, "node {} is not known (any more)",
                                    node);
        if (!entry->second.connected) {
            PACE_TRY_ASSIGN(peer, transport_.connect(entry->second.address));
            entry->second.peer = peer;
            entry->second.connected = true;
        }
        return entry->second.peer;
    }

    void set_cut(NodeId node, bool cut) {
        const auto entry = entries_.find(node);
        if (entry != entries_.end()) entry->second.cut = cut;
    }
    bool is_cut(NodeId node) const {
        const auto entry = entries_.find(node);
        return entry != entries_.end() && entry->second.cut;
    }

    // The transport has lost this peer; the node is connected anew. Returns the node; 0 if the peer
    // is none of these nodes.
    NodeId lost(transports::PeerId peer) {
        const auto entry =
            std::find_if(entries_.begin(), entries_.end(), [peer](const auto& other) {
                return other.second.connected && other.second.peer == peer;
            });
        if (entry == entries_.end()) return 0;
        entry->second.connected = false;
        connect_early(entry->first);
        return entry->first;
    }

    std::string name(NodeId node) const {
        const auto entry = entries_.find(node);
        return entry == entries_.end() ? fmt::format("node {}", node) : entry->second.name;
    }

    // For a line of the log.
    std::string names(const std::vector<NodeId>& nodes) const {
        constexpr size_t kNamedMax = 8;
        std::string text;
        for (size_t i = 0; i < std::min(nodes.size(), kNamedMax); ++i)
            text += (i == 0 ? "" : " ") + name(nodes[i]);
        return nodes.size() > kNamedMax
                   ? text + fmt::format(" and {} more", nodes.size() - kNamedMax)
                   : text;
    }

  private:
    struct Entry {
        std::string name;
        std::vector<std::byte> address;
        transports::PeerId peer = 0;
        bool connected = false;
        bool cut = false;  // nothing comes from it
        bool named = true;
    };

    // A node that was given another one's number is here under both until the rest is known.
    void forget_keys(NodeId node, const Entry& entry) {
        if (entry.address.empty()) return;
        for (const auto& [id, other] : entries_)
            if (id != node && other.address == entry.address) return;
        (void)transport_.forget_keys(entry.address);  // an address that it never took has no keys
    }

    static transports::PairKey pair_key_of(std::span<const std::byte> bytes) {
        transports::PairKey key;
        static_assert(sizeof(key.id) + sizeof(key.secret) == protocol::kPairKeyBytes);
        std::copy_n(bytes.begin(), key.id.size(), key.id.begin());
        std::copy_n(bytes.begin() + key.id.size(), key.secret.size(), key.secret.begin());
        return key;
    }

    // Connects now rather than at the first use: data from a node that was gone is taken only once
    // the node is a peer again.
    void connect_early(NodeId node) { [[maybe_unused]] const auto connected = connection(node); }
    void disconnect(Entry& entry) {
        if (!entry.connected) return;
        transport_.disconnect(entry.peer);
        // If a node was given another one's number, it is here under both until the rest is known.
        for (auto& [node, other] : entries_)
            if (other.peer == entry.peer) other.connected = false;
    }

    transports::Transport& transport_;
    std::unordered_map<NodeId, Entry> entries_;
};

}  // namespace pace::daemon
