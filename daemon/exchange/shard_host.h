// ShardHost: the shards of a server job's model that this node keeps, and the controller's order as far as it has heard it.
//
// An entry is acted upon when everything before it is. Only an assignment may have to wait: for the round whose buffers
// become the model.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "base/result.h"
#include "daemon/control/messages.h"
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
    using Pulled = std::function<void(Part part)>;

    ShardHost(uint64_t elements, Pulled pulled) : elements_(elements), pulled_(std::move(pulled)) {}

    // A view has committed. Returns the entries that this node had missed.
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
    bool keeps(uint32_t shard) const { return shards_.contains(shard); }
    bool keeps_any() const { return !shards_.empty(); }

    // The order has come to an assignment of which it has not the model.
    bool waits_for_round() const { return !to_act_.empty(); }

    // Of a shard that it keeps.
    void hold(uint32_t shard, uint32_t rank, uint64_t clock, server::Shard::Update update) {
        shards_.at(shard).hold(rank, clock, std::move(update));
    }
    // The round's result is the model, when the order says so.
    base::Result<> hold_model(uint32_t shard, uint64_t round, std::vector<float> model);

    const server::Ledger& ledger() const { return ledger_; }
    bool has_ordered(uint32_t rank, uint64_t clock) const {
        const auto worker = ledger_.workers.find(rank);
        return worker != ledger_.workers.end() && clock < worker->second.clock;
    }
    control::ServerReport report() const;
    void forget();

  private:
    void begin_anew(const control::CommitView& view, control::NodeId self);
    base::Result<> act();
    base::Result<bool> act(const server::Entry& entry);
    void serve(const server::Entry& entry);

    uint64_t elements_;
    Pulled pulled_;
    uint64_t generation_ = 0;  // 0: no view yet
    std::vector<control::NodeId> places_;
    std::map<uint32_t, server::Shard> shards_;
    server::Ledger ledger_;                  // of what was heard
    std::deque<server::Entry> to_act_;       // heard, in order
    std::deque<control::ServerEntry> tail_;  // the last that was heard
};

}  // namespace pace::daemon
