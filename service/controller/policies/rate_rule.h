// RateRule: how much an update counts in the model of a server job. The model is
//
//     w = w0 + Σ over versions v of rate(v) · Σ over the updates u that belong to v of u
//
// A rule decides three things: the version that an update belongs to (map), how much each update of
// a version counts given the number of updates (update), and when a version gets no more updates
// (expire), so that it becomes part of w0 for good. The controller asks the rule while it orders
// pushes and pulls; the daemons add up accordingly. A new rule is one class like those below, and
// one line in make_rate_rule().
#pragma once

#include <cstdint>
#include <memory>

#include "service/controller/policies/server_clocks.h"

namespace pace::controller {

class RateRule {
  public:
    virtual ~RateRule() = default;

    // map: the version that this worker's next update belongs to. The version must not have
    // expired.
    virtual uint64_t map(const ServerClocks& clocks, Rank rank) const = 0;

    // update: how much each update of a version counts when there are `updates` of them, at least
    // 1.
    virtual double update(uint64_t updates) const = 0;

    // expire: whether no further update will belong to this version. The controller asks about the
    // oldest remaining version after every push, pull and departure, until the answer is no.
    virtual bool expire(const ServerClocks& clocks, uint64_t version) const = 0;
};

// Every update counts the same, whenever it comes: 1 (SSPSGD), or λ (ConSGD, section 4). Each
// update is its own version, and becomes part of w0 at once.
class FixedRate final : public RateRule {
  public:
    explicit FixedRate(double rate) : rate_(rate) {}
    uint64_t map(const ServerClocks& clocks, Rank /*rank*/) const override {
        return clocks.pushes();
    }
    double update(uint64_t /*updates*/) const override { return rate_; }
    bool expire(const ServerClocks& /*clocks*/, uint64_t /*version*/) const override {
        return true;
    }

  private:
    double rate_;
};

// DynSGD (section 5, Algorithm 2): the updates based on one version of the model count as their
// mean, however late some of them come. A version expires when every worker has moved on to a newer
// one. In the paper only a push checks for expiry, and versions leak; here pulls and departures
// check too.
class DynamicRate final : public RateRule {
  public:
    uint64_t map(const ServerClocks& clocks, Rank rank) const override {
        const ServerClocks::Worker* worker = clocks.find(rank);
        return worker == nullptr ? clocks.oldest_version() : worker->version;
    }
    double update(uint64_t updates) const override { return 1.0 / static_cast<double>(updates); }
    bool expire(const ServerClocks& clocks, uint64_t version) const override {
        return version < clocks.oldest_version();
    }
};

// `constant` is λ.
std::unique_ptr<RateRule> make_rate_rule(Rate rate, double constant);

}  // namespace pace::controller
