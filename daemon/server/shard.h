// Shard: a range of a model, as a parameter server keeps it (Jiang et al., SIGMOD 2017, Algorithm 2).
//
//     w = base + Σ over live versions v, oldest first, of rate(v) · (sum of the updates that belong to v)
//
// The paper changes w with each push, by (u − U(v))/d: everything that a version has touched. Here a push costs what its update has
// of elements, and w is added up when somebody pulls, which reads all of it anyway. A version that gets no more updates
// becomes part of the base.
//
// An update is held from when it arrives until the order names it. What a shard has depends on the order alone, not on when its
// updates came, and not on where the model is cut. One thread at a time.
//
// Without partition synchronization (let_updates_be_late) the order may name an update that is not there yet: it counts when it comes,
// and whoever reads before has not got it.
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
        size_t held = 0;      // of updates that are not ordered yet
    };

    // Zeros. Throws where there is no memory for them.
    explicit Shard(size_t count) : base_(count, 0.0F) {}
    // The same, of as many elements as somebody else says. ErrorKind::memory.
    static base::Result<Shard> create(size_t count);
    // As it was at a position.
    Shard(std::vector<float> base, std::map<uint64_t, Version> versions)
        : base_(std::move(base)), versions_(std::move(versions)) {}

    void let_updates_be_late() { may_be_late_ = true; }

    size_t count() const { return base_.size(); }

    using Update = std::shared_ptr<const HybridVector>;

    // Keeps the worker's update of this clock, of count() elements and settled. A second one replaces the first: it is the same, or another
    // worker's of that rank, which is the one that counts.
    void hold(uint32_t rank, uint64_t clock, Update update);
    void hold(uint32_t rank, uint64_t clock, HybridVector update) {
        hold(rank, clock, std::make_shared<const HybridVector>(std::move(update)));
    }
    // What the round makes the model when the order assigns it.
    void hold_model(uint64_t round, std::vector<float> model) {
        models_held_[round] = std::move(model);
    }
    bool holds_model(uint64_t round) const { return models_held_.contains(round); }
    bool holds(uint32_t rank, uint64_t clock) const { return held_.contains({rank, clock}); }
    // The order has named this update, which is late.
    bool awaits(uint32_t rank, uint64_t clock) const { return late_.contains({rank, clock}); }

    // Acts upon the next entry of the order. ErrorKind::internal, and nothing has changed, if it names an update that is not held, or
    // a version that is not there.
    base::Result<> act(const Entry& entry);

    // Puts together what was added: after it, until the next call that changes something, any thread may read.
    void settle();
    // Elements [first, first + out.size()) of the model.
    void read(size_t first, std::span<float> out) const;

    // The shard is as that one is; what it holds it still holds. Versions that are not among `live` get no more updates.
    void restore(Shard saved, const std::map<uint64_t, uint64_t>& live);

    const std::vector<float>& base() const { return base_; }
    const std::map<uint64_t, Version>& versions() const { return versions_; }
    Memory memory() const;

  private:
    // An update that the order has named before it came.
    struct Late {
        uint64_t version = 0;
        double rate = 0;  // of the version, when that is part of the base
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
