// ShardHost: the shards of a server job's model that this node keeps, and the controller's order as far as it has heard it.
//
// An entry is acted upon when everything before it is. Only an assignment may have to wait: for the round whose buffers
// become the model. What is decided here, what it does to a shard's memory leaves the event loop in the same order
// (daemon/kernels/strand.h): a shard may be behind what was heard, and whoever pulls gets it as it is at the pull's place.
//
// A shard is made when its generation begins, and never later: a node that is to keep one of a model under way, and has it not, has lost
// it. It says so, and serves nothing, until another generation begins.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "daemon/control/messages.h"
#include "daemon/exchange/accounts.h"
#include "daemon/exchange/buffer.h"
#include "daemon/kernels/strand.h"
#include "daemon/server/floats.h"
#include "daemon/server/order.h"
#include "daemon/server/partition.h"
#include "daemon/server/shard.h"

namespace pace::daemon {

class ShardHost {
  public:
    // A part of the model for a worker that has pulled: elements from part.first on, of the shard.
    struct Part {
        uint32_t shard = 0;
        uint32_t rank = 0;
        uint64_t clock = 0;
        uint64_t position = 0;
        uint64_t slowest = 0;
        server::Floats elements;
    };
    // A shard as it was at a position, or why there is no memory for a copy of it.
    using Copy = base::Result<std::shared_ptr<const server::Shard>>;
    // What is to be done with the shards. Called from inside, or by the loop when their memory was worked on. None of it calls back
    // from inside, but for `failed`.
    struct Hooks {
        std::function<void(Part part)> pulled;
        // The shard is to be saved as it is in the copy; the ledger is of that position.
        std::function<void(uint32_t shard, Copy copy, const server::Ledger&)> save;
        // The shard of that checkpoint is to be loaded(): until then the node acts upon nothing.
        std::function<void(uint32_t shard, uint64_t generation, uint64_t position)> load;
        // What a call here would have returned, had it been known by then.
        std::function<void(const base::Error&)> failed;
    };
    // What is known of a shard, up to what was worked on.
    struct Seen {
        size_t count = 0;
        size_t versions = 0;
        server::Shard::Memory memory;
    };

    // `unsynchronized`: updates may be named by the order before they come.
    // Its shards, and the updates that they hold, are charged to `payer`. Without `aside` all is done at once.
    ShardHost(uint64_t elements, bool unsynchronized, Payer payer, Hooks hooks,
              std::optional<kernels::Aside> aside = std::nullopt)
        : elements_(elements),
          unsynchronized_(unsynchronized),
          payer_(std::move(payer)),
          hooks_(std::move(hooks)),
          aside_(std::move(aside)) {}

    // A view has committed. Returns the entries that this node had missed. ErrorKind::internal: what it has is of no use for this
    // model; forget() it.
    // ErrorKind::limit, ErrorKind::memory: there is no room for a shard that this node is to keep.
    base::Result<std::vector<control::ServerEntry>> commit(const control::CommitView& view,
                                                           control::NodeId self);
    // The next of the order. ErrorKind::internal: some of it has been missed, or names what is not here; only another view helps.
    // `ret_heard` gets what was news.
    base::Result<> hear(const std::vector<control::ServerEntry>& entries,
                        std::vector<control::ServerEntry>& ret_heard);

    uint64_t generation() const { return generation_; }
    const std::vector<control::NodeId>& places() const { return places_; }
    server::Partition partition() const {
        return {elements_, static_cast<uint32_t>(places_.size())};
    }
    // Those that this node keeps.
    const std::map<uint32_t, Seen>& shards() const { return seen_; }
    bool keeps(uint32_t shard) const { return seen_.contains(shard); }
    bool keeps_any() const { return !seen_.empty(); }

    // The order has come to an assignment of this round's result, which is not here.
    std::optional<uint64_t> awaited_round() const {
        if (!loading_.empty() || to_act_.empty()) return std::nullopt;
        return to_act_.front().clock;
    }

    // Of the checkpoint that the model of this generation is.
    base::Result<> loaded(uint32_t shard, server::Shard saved);

    // Of a shard that it keeps: an update that is not ordered yet, or is late. Another was held before, and is dropped.
    void hold(uint32_t shard, uint32_t rank, uint64_t clock, server::Shard::Update update);
    const Payer& payer() const { return payer_; }
    // The round's result is the model, when the order says so.
    base::Result<> hold_model(uint32_t shard, uint64_t round, server::Floats model);

    const server::Ledger& ledger() const { return ledger_; }
    bool has_ordered(uint32_t rank, uint64_t clock) const {
        const auto worker = ledger_.workers.find(rank);
        return worker != ledger_.workers.end() && clock < worker->second.clock;
    }
    // How many workers of this rank have left, as far as was heard.
    uint64_t leaves_of(uint32_t rank) const {
        const auto leaves = leaves_.find(rank);
        return leaves == leaves_.end() ? 0 : leaves->second;
    }
    control::ServerReport report() const;
    void forget();

  private:
    struct Kept {
        uint32_t number = 0;
        server::Shard shard;
    };
    using Shards = std::shared_ptr<std::vector<Kept>>;
    struct Outcome {
        base::Result<> result;
        std::optional<Part> part;
        std::optional<Copy> copy;
        Seen seen;
    };
    // Changes, or reads, one shard. Not in the loop's thread.
    using Work = std::function<void(Kept& kept, Outcome& ret_outcome)>;
    using Then = std::function<void(uint32_t shard, Outcome& outcome)>;
    // A call that returns what has failed in it.
    class Call;

    base::Result<> begin_anew(const control::CommitView& view, control::NodeId self);
    base::Result<> check_shards(const control::CommitView& view, control::NodeId self) const;
    base::Result<> make_room(size_t bytes, size_t let_go);
    void make_shards(std::vector<Kept> shards);
    void act();
    bool has_model(uint64_t round) const;
    void perform(const server::Entry& entry);
    size_t bytes_of(const server::Entry& entry) const;
    size_t bytes_of_shards() const;
    void work_on_all(size_t bytes, Work work, Then then = {});
    void work_on(uint32_t shard, size_t bytes, Work work, Then then = {});
    void work_on(size_t first, size_t last, size_t bytes, Work work, Then then);
    void fail(const base::Error& error);

    uint64_t elements_;
    bool unsynchronized_;
    Payer payer_;
    Hooks hooks_;
    std::optional<kernels::Aside> aside_;
    uint64_t generation_ = 0;  // 0: no view yet
    std::vector<control::NodeId> places_;
    std::map<uint32_t, Seen> seen_;
    size_t coming_bytes_ = 0;  // of updates whose shards have not been seen since
    std::map<uint32_t, std::map<uint64_t, uint64_t>>
        loading_;  // shards that are not loaded yet, and the versions that live then
    std::map<uint64_t, std::map<uint32_t, server::Floats>> models_;  // by round and shard
    server::Ledger ledger_;                                          // of what was heard
    std::deque<server::Entry> to_act_;                               // heard, in order
    std::map<uint64_t, server::Ledger> to_save_;  // at checkpoints that were heard, by position
    std::deque<control::ServerEntry> tail_;       // the last that was heard
    std::map<uint32_t, uint64_t> leaves_;         // by rank
    Charge charge_;                               // for the shards
    int inside_ = 0;                              // calls that return an error
    std::optional<base::Error> error_;            // for them
    // Only the strand's work looks at the shards.
    Shards shards_;
    std::unique_ptr<kernels::Strand> strand_ = std::make_unique<kernels::Strand>();
};

}  // namespace pace::daemon
