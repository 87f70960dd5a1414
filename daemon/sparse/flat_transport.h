// flat_transport: several participants on each node, each a peer of its own to all others, wherever
// they are; for an exchange among workers that would rather not be summed by their node first.
//
// A FlatNode stands for all participants of this node, which have the numbers 0 to P-1 among them
// all, equal everywhere. It gives each local one a Transport whose peers are these numbers. Between
// two participants of one node messages are matched here, in memory; to others they go over the real
// transport to the other's node, under an exchange number made of the exchange, the sender and the
// receiver, so that equal slots of several participants do not meet.
//
//     FlatNode node(real, hosts);                // for one membership
//     loop.add_poller(&node);
//     Communicator communicator(node.participant(w), {exchange, check, {0, 1, …, P-1}, w, {}});
//
// The contract is transports/transport.h's, with these particulars:
//  * Participants are known from the start. connect() finds the number that belongs to an address.
//  * A node is lost, or disconnected, with all its participants: to disconnect one that is elsewhere
//    is to disconnect its node, and the other local participants are told as of a loss. Neither
//    comes back: a new membership has a new FlatNode.
//  * A second message for a slot within this node ends with ErrorKind::invalid at its sender, who is
//    to blame; nobody is lost.
//  * close_exchange() closes two numbers per participant elsewhere at the real transport, which
//    remembers the last few thousand (recent_ids.h) for what comes late.
//  * A participant is heard when its node is; those of this node always are.
//  * The owner of the real transport has its lost handler, and passes on what it says: peer_lost().
//
// A FlatNode is a Poller of the real transport's event loop: what ends within the node ends from
// poll(). It must outlive its operations with others, which the real transport ends at the latest
// when it is destroyed; those within the node are ended by the destructor.
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

#include "base/event_loop.h"
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
    // Messages within the node up to this size are copied, and their senders go on; larger ones
    // stay at the sender until they are matched.
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
    // With those of this node. What is among nodes ends with the real transport.
    void end() override;
    void ping(transports::PeerId peer) override;
    base::TimePoint heard(transports::PeerId peer) const override;
    void set_peer_lost_handler(transports::PeerLostHandler handler) override;
    int event_fd() const override { return -1; }
    Counters counters() const override { return counters_; }

    // FlatNode's does this for all its participants.
    bool poll() override { return completions_.run(); }
    bool arm() override { return completions_.empty(); }

  private:
    friend class FlatNode;

    // A message from within the node that waits for its receive. A large one's bytes and completion
    // are its sender's still.
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

    // False if the peer is none or gone, of which the completion is told.
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
    std::unordered_set<transports::PeerId> gone_;  // of this node, by disconnect()
    bool ended_ = false;
    transports::MatchTable<transports::Receive> receives_;
    transports::MatchTable<Message> messages_;
    transports::RecentIds closed_;
    transports::CompletionQueue completions_;
    transports::PeerLostHandler lost_handler_;
    Counters counters_;
    base::Scope scope_;  // the real transport may end what was given up later than this
};

class FlatNode final : public base::Poller {
  public:
    // `hosts`, by participant: the peer of `real` at which it lives; nothing: here. Equal numbers
    // everywhere. Large messages within the node are copied by `aside`.
    FlatNode(transports::Transport& real, std::vector<std::optional<transports::PeerId>> hosts,
             kernels::Aside aside);
    ~FlatNode() override;
    FlatNode(const FlatNode&) = delete;
    FlatNode& operator=(const FlatNode&) = delete;

    size_t size() const { return hosts_.size(); }
    bool is_local(transports::PeerId participant) const { return locals_.contains(participant); }
    // A participant of this node; lives as long as the FlatNode.
    FlatTransport& participant(transports::PeerId number) { return *locals_.at(number); }

    // The real transport's lost handler says so. Participants here are told from poll(), once for
    // each participant that lived there. Peers that host none are ignored.
    void peer_lost(transports::PeerId peer, const base::Error& error);

    // A completion or a handler must not destroy the FlatNode.
    bool poll() override;
    bool arm() override;

  private:
    friend class FlatTransport;

    // A node elsewhere.
    struct Host {
        size_t pending = 0;  // operations with it that the real transport has not ended
        std::optional<base::Error> lost;
        bool told = false;
        std::optional<transports::PeerId> by;  // the local participant that disconnected it
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
