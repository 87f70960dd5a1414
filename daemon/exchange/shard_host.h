// ShardHost: the shards of a server job's model that this node keeps, and the controller's order as far as it has heard it.
//
// An entry is acted upon when everything before it is. Only an assignment may have to wait: for the round whose buffers
// become the model.
//
// A shard is made when its generation begins, and never later: a node that is to keep one of a model under way, and has it not, has lost
// it. It says so, and serves nothing, until another generation begins.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "daemon/control/messages.h"
#include "daemon/exchange/accounts.h"
#include "daemon/exchange/buffer.h"
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
        std::vector<float> elements;
    };
    // What is to be done with the shards. None of it calls back from inside.
    struct Hooks {
        std::function<void(Part part)> pulled;
        // The shard is to be saved as it is; the ledger is of that position.
        std::function<void(uint32_t shard, const server::Shard&, const server::Ledger&)> save;
        // The shard of that checkpoint is to be loaded(): until then the node acts upon nothing.
        std::function<void(uint32_t shard, uint64_t generation, uint64_t position)> load;
    };

    // `unsynchronized`: updates may be named by the order before they come.
    // Its shards, and the updates that they hold, are charged to `payer`.
    ShardHost(uint64_t elements, bool unsynchronized, Payer payer, Hooks hooks)
        : elements_(elements),
          unsynchronized_(unsynchronized),
          payer_(std::move(payer)),
          hooks_(std::move(hooks)) {}

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
    const std::map<uint32_t, server::Shard>& shards() const { return shards_; }
    bool keeps(uint32_t shard) const { return shards_.contains(shard); }
    bool keeps_any() const { return !shards_.empty(); }

    // The order has come to an assignment of this round's result, which is not here.
    std::optional<uint64_t> awaited_round() const {
        if (!loading_.empty() || to_act_.empty()) return std::nullopt;
        return to_act_.front().clock;
    }

    // Of the checkpoint that the model of this generation is.
    base::Result<> loaded(uint32_t shard, server::Shard saved);

    // Of a shard that it keeps.
    void hold(uint32_t shard, uint32_t rank, uint64_t clock, server::Shard::Update update) {
        shards_.at(shard).hold(rank, clock, std::move(update));
    }
    const Payer& payer() const { return payer_; }
    // The round's result is the model, when the order says so.
    base::Result<> hold_model(uint32_t shard, uint64_t round, std::vector<float> model);

    const server::Ledger& ledger() const { return ledger_; }
    // Of a shard that it keeps: an update that is ordered has been held before, or is late.
    bool wants(uint32_t shard, uint32_t rank, uint64_t clock) const {
        return !has_ordered(rank, clock) || shards_.at(shard).awaits(rank, clock);
    }
    bool has_ordered(uint32_t rank, uint64_t clock) const {
        const auto worker = ledger_.workers.find(rank);
        return worker != ledger_.workers.end() && clock < worker->second.clock;
    }
    control::ServerReport report() const;
    void forget();

  private:
    base::Result<> begin_anew(const control::CommitView& view, control::NodeId self);
    base::Result<> check_shards(const control::CommitView& view, control::NodeId self) const;
    base::Result<> make_shard(uint32_t shard);
    base::Result<> act();
    base::Result<bool> act(const server::Entry& entry);
    void serve(const server::Entry& entry);
    void save(uint64_t position);

    uint64_t elements_;
    bool unsynchronized_;
    Payer payer_;
    Hooks hooks_;
    uint64_t generation_ = 0;  // 0: no view yet
    std::vector<control::NodeId> places_;
    std::map<uint32_t, server::Shard> shards_;
    std::vector<Charge> paid_;  // for them
    std::map<uint32_t, std::map<uint64_t, uint64_t>>
        loading_;            // shards that are not loaded yet, and the versions that live then
    server::Ledger ledger_;  // of what was heard
    std::deque<server::Entry> to_act_;            // heard, in order
    std::map<uint64_t, server::Ledger> to_save_;  // at checkpoints that were heard, by position
    std::deque<control::ServerEntry> tail_;       // the last that was heard
};

}  // namespace pace::daemon
