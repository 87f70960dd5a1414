// ShardHost: the shards of a server job's model that this node keeps, and the controller's order as
// far as this node has heard it.
//
// An entry of the order is acted upon after all entries before it. Only an assignment may have to
// wait: for the round whose buffers become the model. Decisions are made here; the changes that
// they make to a shard's memory leave the event loop, in the same order (daemon/kernels/strand.h).
// So a shard may be behind the order that was heard, and a pull gets the shard as it is at the
// pull's position.
//
// A shard is made when its generation begins, and never later. A node that should keep a shard of a
// model under way, but does not have it, has lost the shard. The node says so, and serves nothing
// until another generation begins.
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
#include "daemon/kernels/strand.h"
#include "daemon/runtime/accounts.h"
#include "daemon/runtime/buffer.h"
#include "daemon/server/floats.h"
#include "daemon/server/order.h"
#include "daemon/server/partition.h"
#include "daemon/server/shard.h"

namespace pace::daemon {

class ShardHost {
  public:
    // A part of the model for a worker that has pulled: elements of the shard, from part.first on.
    struct Part {
        uint32_t shard = 0;
        uint32_t rank = 0;
        uint64_t clock = 0;
        uint64_t position = 0;
        uint64_t slowest = 0;
        server::Floats elements;
    };
    // A shard as it was at a position, or why there was no memory for a copy of it.
    using Copy = base::Result<std::shared_ptr<const server::Shard>>;
    // What is to be done with the shards. Called from inside a call, or by the loop after work on
    // the shards' memory. Only `failed` may call back from inside.
    struct Hooks {
        std::function<void(Part part)> pulled;
        // Saves the shard as it is in the copy. The ledger is of that position.
        std::function<void(uint32_t shard, Copy copy, const server::Ledger&)> save;
        // Loads the shard of that checkpoint, and then calls loaded(). Until then the node acts
        // upon no entry.
        std::function<void(uint32_t shard, uint64_t generation, uint64_t position)> load;
        // An error that a call would have returned if the error had been known by then.
        std::function<void(const base::Error&)> failed;
    };
    // What is known of a shard, as of the last work on it.
    struct Seen {
        size_t count = 0;
        size_t versions = 0;
        server::Shard::Memory memory;
    };

    // `unsynchronized`: the order may name updates before they come. The shards, and the updates
    // that they hold, are charged to `payer`. Without `aside`, all work is done at once.
    ShardHost(uint64_t elements, bool unsynchronized, Payer payer, Hooks hooks,
              std::optional<kernels::Aside> aside = std::nullopt)
        : elements_(elements),
          unsynchronized_(unsynchronized),
          payer_(std::move(payer)),
          hooks_(std::move(hooks)),
          aside_(std::move(aside)) {}

    // A view has committed. Returns the entries that this node had missed. ErrorKind::internal:
    // what this node has is of no use for the model; call forget(). ErrorKind::limit,
    // ErrorKind::memory: there is no room for a shard that this node is to keep.
    base::Result<std::vector<control::ServerEntry>> commit(const control::CommitView& view,
                                                           control::NodeId self);
    // The next entries of the order. ErrorKind::internal: entries have been missed, or an entry
    // names something that is not here; only another view helps. `ret_heard` gets the entries that
    // are new.
    base::Result<> hear(const std::vector<control::ServerEntry>& entries,
                        std::vector<control::ServerEntry>& ret_heard);

    uint64_t generation() const { return generation_; }
    const std::vector<control::NodeId>& places() const { return places_; }
    server::Partition partition() const {
        return {elements_, static_cast<uint32_t>(places_.size())};
    }
    // The shards that this node keeps.
    const std::map<uint32_t, Seen>& shards() const { return seen_; }
    bool keeps(uint32_t shard) const { return seen_.contains(shard); }
    bool keeps_any() const { return !seen_.empty(); }

    // The round of an assignment that the order has come to and whose result is not here.
    std::optional<uint64_t> awaited_round() const {
        if (!loading_.empty() || to_act_.empty()) return std::nullopt;
        return to_act_.front().clock;
    }

    // The shard of the checkpoint from which this generation's model was restored.
    base::Result<> loaded(uint32_t shard, server::Shard saved);

    // An update for a shard that this node keeps; it is not ordered yet, or is late. If another one
    // was held before, it is dropped.
    void hold(uint32_t shard, uint32_t rank, uint64_t clock, server::Shard::Update update);
    const Payer& payer() const { return payer_; }
    // The round's result, which becomes the model when the order says so.
    base::Result<> hold_model(uint32_t shard, uint64_t round, server::Floats model);

    const server::Ledger& ledger() const { return ledger_; }
    bool has_ordered(uint32_t rank, uint64_t clock) const {
        const auto worker = ledger_.workers.find(rank);
        return worker != ledger_.workers.end() && clock < worker->second.clock;
    }
    // The clock of the worker's next update, as far as this node has heard. 0: it has heard of
    // none.
    uint64_t next_clock(uint32_t rank) const {
        const auto worker = ledger_.workers.find(rank);
        return worker != ledger_.workers.end() ? worker->second.clock : 0;
    }
    // How many rounds' models wait until the order says that they are the model.
    size_t models_waiting() const { return models_.size(); }
    // How many workers of this rank have left, as far as this node has heard.
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
    // A call that returns the first error that occurs in it.
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
    size_t coming_bytes_ = 0;  // of updates whose shards have not been looked at since
    std::map<uint32_t, std::map<uint64_t, uint64_t>>
        loading_;  // shards that are not loaded yet, and their live versions once they are
    std::map<uint64_t, std::map<uint32_t, server::Floats>> models_;  // by round and shard
    server::Ledger ledger_;                       // after the entries that were heard
    std::deque<server::Entry> to_act_;            // heard, in order
    std::map<uint64_t, server::Ledger> to_save_;  // at checkpoints that were heard, by position
    std::deque<control::ServerEntry> tail_;       // the last entries that were heard
    std::map<uint32_t, uint64_t> leaves_;         // by rank
    Charge charge_;                               // for the shards
    int inside_ = 0;                              // calls under way that return an error
    std::optional<base::Error> error_;            // for these calls
    // Only work on the strand touches the shards.
    Shards shards_;
    std::unique_ptr<kernels::Strand> strand_ = std::make_unique<kernels::Strand>();
};

}  // namespace pace::daemon
