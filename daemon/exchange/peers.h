// Peers: the other daemons, by the controller's node numbers, and their connections at the transport.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "transports/transport.h"

namespace pace::daemon {

using NodeId = uint32_t;

class Peers {
  public:
    explicit Peers(transports::Transport& transport) : transport_(transport) {}

    // The controller has named a node and its address. A new address replaces the old connection.
    void know(NodeId node, std::string name, std::vector<std::byte> address) {
        Entry& entry = entries_[node];
        if (entry.connected && entry.address != address) {
            transport_.disconnect(entry.peer);
            entry.connected = false;
        }
        entry.name = std::move(name);
        entry.address = std::move(address);
        // Now and not at the first use: what a peer that was gone sends after its return is only taken once it is a peer again.
        [[maybe_unused]] const auto connected = peer(node);
    }

    // Ends all operations with the node.
    void forget(NodeId node) {
        disconnect(node);
        entries_.erase(node);
    }
    void forget_all() {
        while (!entries_.empty()) forget(entries_.begin()->first);
    }

    void disconnect(NodeId node) {
        const auto entry = entries_.find(node);
        if (entry == entries_.end() || !entry->second.connected) return;
        transport_.disconnect(entry->second.peer);
        entry->second.connected = false;
    }

    // The connection to the node, made now if there is none.
    base::Result<transports::PeerId> peer(NodeId node) {
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

    // The transport has lost this peer: the next use connects anew. Returns its node; 0 if it is none of ours.
    NodeId lost(transports::PeerId peer) {
        for (auto& [node, entry] : entries_) {
            if (entry.connected && entry.peer == peer) {
                entry.connected = false;
                return node;
            }
        }
        return 0;
    }

    std::string name(NodeId node) const {
        const auto entry = entries_.find(node);
        return entry == entries_.end() ? fmt::format("node {}", node) : entry->second.name;
    }

  private:
    struct Entry {
        std::string name;
        std::vector<std::byte> address;
        transports::PeerId peer = 0;
        bool connected = false;
    };
    transports::Transport& transport_;
    std::unordered_map<NodeId, Entry> entries_;
};

}  // namespace pace::daemon
