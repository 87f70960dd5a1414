// flat_transport: several participants on each node. Each participant is a peer of its own to all
// others, wherever they are. Serves exchanges whose workers should not be summed by their node
// first.
//
// A FlatNode stands for all participants of this node. All participants of all nodes have the
// numbers 0 to P-1, equal everywhere. The FlatNode gives each local participant a Transport whose
// peers are these numbers. A message between two participants of one node is matched here, in
// memory. A message to another node goes over the real transport. Its exchange number is made of
// the exchange, the sender and the receiver, so equal slots of several participants do not collide.
//
//     FlatNode node(real, hosts);                // for one membership
//     loop.add_poller(&node);
//     Communicator communicator(node.participant(w), {exchange, check, {0, 1, …, P-1}, w, {}});
//
// The contract is that of transports/transport.h, with these differences:
//  * Participants are known from the start. connect() finds the number that belongs to an address.
//  * A node is lost or disconnected with all its participants. Disconnecting a participant of
//    another node disconnects that node. The other local participants are then told of a loss. A
//    lost or disconnected node does not come back: a new membership has a new FlatNode.
//  * A second message for a slot within this node ends with ErrorKind::invalid at its sender, which
//    caused the error. No peer is lost.
//  * close_exchange() closes two exchange numbers at the real transport for each participant of
//    another node. The real transport remembers the last few thousand numbers (recent_ids.h), for
//    late messages.
//  * A participant is heard when its node is heard. The participants of this node are always heard.
//  * The owner of the real transport has the real transport's lost handler. It passes each loss on
//    by peer_lost().
//
// A FlatNode is a Poller of the real transport's event loop. Operations within the node end in
// poll(). A FlatNode must outlive its operations with other nodes. The real transport ends these
// operations when it is destroyed, at the latest. The FlatNode's destructor ends the operations
// within the node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/loop/event_loop.h"
#include "daemon/kernels/aside.h"
#include "transports/completion_queue.h"
#include "transports/match_table.h"
#include "transports/receive.h"
#include "transports/recent_ids.h"
#include "transports/transport.h"

namespace pace::sparse {

class FlatNode;

// One local participant's view. FlatNode makes it and owns it.
class FlatTransport final : public transports::Transport {
  public:
    // A message within the node up to this size is copied, and its send ends at once. A larger
    // message stays in the sender's memory until it is matched.
    static constexpr size_t kCopiedBytesMax = 4096;

    FlatTransport(FlatNode& node, transports::PeerId self);
    FlatTransport(const FlatTransport&) = delete;
    FlatTransport& operator=(const FlatTransport&) = delete;

    std::string_view name() const override { return "flat"; }
    const transports::Address& address() const override { return address_; }
    base::Result<transports::PeerId> connect(std::span<const std::byte> address) override;
    void disconnect(transports::PeerId peer) override;
    void give_up(transports::PeerId peer, const base::Error& error) override;
    void send(transports::PeerId peer, transports::Tag tag, std::span<const std::byte> bytes,
              transports::Completion completion) override;
    void receive(transports::PeerId peer, transports::Tag tag, std::span<std::byte> bytes,
                 transports::Completion completion) override;
    void close_exchange(uint64_t exchange) override;
    // Ends this participant's operations with participants of this node. Operations with other
    // nodes end with the real transport.
    void end() override;
    void ping(transports::PeerId peer) override;
    base::TimePoint heard(transports::PeerId peer) const override;
    void set_peer_lost_handler(transports::PeerLostHandler handler) override;
    int event_fd() const override { return -1; }
    Counters counters() const override { return counters_; }

    // FlatNode::poll() calls this for all its participants.
    bool poll() override { return completions_.run(); }
    bool arm() override { return completions_.empty(); }

  private:
    friend class FlatNode;

    // A message from within the node that waits for its receive. The bytes and the completion of a
    // large message still belong to the sender.
    struct Message {
        FlatTransport* sender = nullptr;
        transports::Tag tag;
        std::vector<std::byte> copy;
        std::span<const std::byte> bytes;
        transports::Completion completion;

        std::span<const std::byte> contents() const {
            return copy.empty() ? bytes : std::span<const std::byte>(copy);
        }
        void end(base::Result<> result) {
            if (completion)
                sender->completions_.push(std::exchange(completion, nullptr), std::move(result));
        }
    };

    // Returns false if the peer does not exist or is gone, or if this transport has ended. The
    // completion is then told the error.
    bool usable(transports::PeerId peer, transports::Completion& completion);
    void send_within(FlatTransport& to, transports::Tag tag, std::span<const std::byte> bytes,
                     transports::Completion completion);
    void receive_within(transports::PeerId from, transports::Receive posted);
    void match(transports::Receive receive, Message message);
    // Ends all operations with a participant of this node.
    void end_within(transports::PeerId peer, const base::Error& error);

    FlatNode& node_;
    transports::PeerId self_;
    transports::Address address_;
    // Participants of this node, by disconnect() or give_up().
    std::unordered_set<transports::PeerId> gone_;
    bool ended_ = false;
    transports::MatchTable<transports::Receive> receives_;
    transports::MatchTable<Message> messages_;
    transports::RecentIds closed_;
    transports::CompletionQueue completions_;
    transports::PeerLostHandler lost_handler_;
    Counters counters_;
    base::Scope scope_;  // the real transport may end given-up operations after this is destroyed
};

class FlatNode final : public base::Poller {
  public:
    // `hosts`, by participant: the peer of `real` that is the participant's node. Empty means this
    // node. The participants' numbers are equal on all nodes. `aside` copies large messages within
    // the node.
    FlatNode(transports::Transport& real, std::vector<std::optional<transports::PeerId>> hosts,
             kernels::Aside aside);
    ~FlatNode() override;
    FlatNode(const FlatNode&) = delete;
    FlatNode& operator=(const FlatNode&) = delete;

    size_t size() const { return hosts_.size(); }
    bool is_local(transports::PeerId participant) const { return locals_.contains(participant); }
    // A participant of this node. It lives as long as the FlatNode.
    FlatTransport& participant(transports::PeerId number) { return *locals_.at(number); }

    // Called from the real transport's lost handler. The participants of this node are told in
    // poll(), once for each participant of the lost node. A peer without participants is ignored.
    void peer_lost(transports::PeerId peer, const base::Error& error);

    // A completion or a handler must not destroy the FlatNode.
    bool poll() override;
    bool arm() override;

  private:
    friend class FlatTransport;

    // Another node.
    struct Host {
        size_t pending = 0;  // operations with this host that the real transport has not ended
        std::optional<base::Error> lost;
        bool told = false;
        std::optional<transports::PeerId> by;  // the local participant that disconnected this host
    };

    void send(transports::PeerId from, transports::PeerId to, transports::Tag tag,
              std::span<const std::byte> bytes, transports::Completion completion);
    void receive(transports::PeerId from, transports::PeerId to, transports::Tag tag,
                 std::span<std::byte> bytes, transports::Completion completion);
    transports::Completion counted(transports::PeerId host, transports::Completion completion);
    void close_exchange(uint64_t exchange, transports::PeerId participant);
    void disconnect(transports::PeerId participant, transports::PeerId by);
    bool has_news(const Host& host) const { return host.lost && !host.told && host.pending == 0; }
    void give_up(transports::PeerId participant, const base::Error& error);
    void tell_lost(transports::PeerId peer, const Host& host);

    transports::Transport& real_;
    std::vector<std::optional<transports::PeerId>> hosts_;
    kernels::Aside aside_;
    std::map<transports::PeerId, Host> nodes_;  // by the real transport's peer
    std::map<transports::PeerId, std::unique_ptr<FlatTransport>> locals_;
    base::Scope scope_;
};

}  // namespace pace::sparse
