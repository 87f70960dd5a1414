// Shard: a range of a model, as a parameter server keeps it (Jiang et al., SIGMOD 2017, Algorithm
// 2).
//
//     w = base + Σ over live versions v, oldest first, of rate(v) · (sum of the updates of v)
//
// In the paper each push changes w by (u − U(v))/d. This change affects every element that the
// version has touched. Here a push costs only the elements of its update. w is added up for a pull,
// which reads all of w anyway. A version that gets no more updates becomes part of the base.
//
// An update is held from its arrival until the order names it. The shard's contents depend on the
// order alone, not on when updates arrived or how the model is cut. One thread at a time.
//
// Without partition synchronization (let_updates_be_late) the order may name an update that has not
// arrived. The update then counts from its arrival. Earlier reads lack the update.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/server/hybrid_vector.h"
#include "daemon/server/order.h"

namespace pace::server {

class Shard {
  public:
    struct Version {
        HybridVector sum;
        double rate = 0;
    };
    struct Memory {
        size_t model = 0;     // bytes of the base
        size_t versions = 0;  // of live versions
        size_t held = 0;      // updates that are not ordered yet
    };

    // A shard of zeros. Throws if there is no memory.
    explicit Shard(size_t count) : base_(count, 0.0F) {}
    // The same for an untrusted number of elements. Error: memory.
    static base::Result<Shard> create(size_t count);
    // A shard with the contents of some position.
    Shard(std::vector<float> base, std::map<uint64_t, Version> versions)
        : base_(std::move(base)), versions_(std::move(versions)) {}

    void let_updates_be_late() { may_be_late_ = true; }

    size_t count() const { return base_.size(); }

    using Update = std::shared_ptr<const HybridVector>;

    // Holds the worker's update of this clock. The update must be settled and have count()
    // elements. A second update replaces the first. Either the two are equal, or the second comes
    // from a new worker of the same rank and is the valid one.
    void hold(uint32_t rank, uint64_t clock, Update update);
    void hold(uint32_t rank, uint64_t clock, HybridVector update) {
        hold(rank, clock, std::make_shared<const HybridVector>(std::move(update)));
    }
    // Holds the model that the order will assign in `round`.
    void hold_model(uint64_t round, std::vector<float> model) {
        models_held_[round] = std::move(model);
    }
    bool holds_model(uint64_t round) const { return models_held_.contains(round); }
    bool holds(uint32_t rank, uint64_t clock) const { return held_.contains({rank, clock}); }
    // Returns whether the order has named this update before its arrival, and the update has not
    // arrived yet.
    bool awaits(uint32_t rank, uint64_t clock) const { return late_.contains({rank, clock}); }

    // Applies the next entry of the order. Error: internal, if the entry names an update that is
    // not held or a version that does not exist. Then nothing has changed.
    base::Result<> act(const Entry& entry);

    // Combines the additions. Afterwards any thread may read, until the next call that changes the
    // shard.
    void settle();
    // Reads elements [first, first + out.size()) of the model.
    void read(size_t first, std::span<float> out) const;

    // Replaces the contents by those of `saved`, but keeps the held updates. Versions not in `live`
    // get no more updates.
    void restore(Shard saved, const std::map<uint64_t, uint64_t>& live);

    const std::vector<float>& base() const { return base_; }
    const std::map<uint64_t, Version>& versions() const { return versions_; }
    Memory memory() const;

  private:
    // An update that the order has named before its arrival.
    struct Late {
        uint64_t version = 0;
        double rate = 0;  // of the version, once that is part of the base
        bool is_void = false;
    };
    void take_late(const Late& late, const HybridVector& update);
    void push_late(const Entry& entry, bool at_once);
    void expire(uint64_t number);
    base::Result<> assign(const Entry& entry);
    base::Result<> push(const Entry& entry);

    std::vector<float> base_;
    std::map<uint64_t, Version> versions_;
    std::map<std::pair<uint32_t, uint64_t>, Update> held_;  // by rank and clock
    std::map<uint64_t, std::vector<float>> models_held_;    // by round
    bool may_be_late_ = false;
    std::map<std::pair<uint32_t, uint64_t>, Late> late_;  // by rank and clock
};

}  // namespace pace::server
