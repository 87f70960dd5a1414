// Server: the single order of all pushes and pulls of a server job (Jiang et al., SIGMOD 2017,
// sections 5 and 6).
//
// An update gets the next position once every shard of the model holds the update. A pull gets one
// once staleness allows it and the worker's own earlier updates have positions. All daemons apply
// the positions in order, so that a shard at position p has exactly the updates up to p. A worker
// that pulls at p thus gets the same model from every shard, which is the paper's stable version.
// The rate rule decides here, once for all shards, how much an update counts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "service/controller/policies/rate_rule.h"
#include "service/controller/policies/server_clocks.h"
#include "service/controller/vocabulary/types.h"

namespace pace::controller {

struct ServerOptions {
    std::optional<uint64_t> staleness;  // s: 0 is BSP, none is ASP
    Rate rate = Rate::dynamic;
    double constant = 0;  // λ
};

struct ServerStatistics {
    // Pushes by the number of versions newer than the one that the push was based on. The last
    // entry counts all greater numbers too.
    std::array<uint64_t, 64> staleness{};
    uint64_t pulls = 0;
    uint64_t waiting = 0;              // pulls, now
    double waited_total_s = 0;         // of all pulls that staleness held back
    uint64_t waited = 0;               // number of pulls held back
    std::map<Rank, double> waited_by;  // seconds, by worker
};

class Server {
  public:
    explicit Server(const ServerOptions& options);

    // The member begins at the slowest clock. Adding a member twice changes nothing.
    void add_member(Rank rank);
    // Like add_member(), but a ledger's data for the rank belongs to another worker.
    void add_newcomer(Rank rank);
    // Nobody waits for the member any more. Its requests are forgotten.
    void remove_member(Rank rank, TimePoint now);

    // The result of the round becomes the model. A round that is not later than the last one does
    // nothing.
    void assign(uint64_t round);
    // All shards hold the worker's update. Does nothing if the update is already ordered or the
    // worker is no member.
    void stored(Rank rank, uint64_t clock, TimePoint now);
    struct Range {
        uint64_t first = 0;
        uint64_t count = 0;
    };
    // The worker wants the model for its step of `clock`, with its own updates whose clock is below
    // `own`. Replaces its earlier request.
    void asked(Rank rank, uint64_t clock, uint64_t own, TimePoint now) {
        asked(rank, clock, own, Range{}, now);
    }
    void asked(Rank rank, uint64_t clock, uint64_t own, Range range, TimePoint now);
    // False if no pull of the rank waits.
    bool withdraw(Rank rank);
    // Appends the newly ordered entries, in order, to `ret_entries`.
    void take(std::vector<ServerEntry>& ret_entries);

    // The state that a daemon at the last position also has.
    ServerLedger ledger() const;
    // Restores the order after the controller has lost it: present and later members continue as
    // the ledger says. What has been ordered meanwhile is void. Members that the ledger does not
    // know, and newcomers, join after its position.
    void restore(const ServerLedger& ledger, TimePoint now);
    // Removes the workers of a ledger that are not members by now. If they come later, they join as
    // new ones.
    void forget_missing(TimePoint now);
    // Another model begins: the old one's versions are void.
    void begin_anew();
    // Forgets the last assigned round. After a view, a node repeats only rounds that were not
    // ordered, so that older rounds no longer come.
    void forget_assigned() { assigned_.reset(); }
    // Returns to the model of this ledger. Members that the ledger does not know begin at its
    // slowest clock.
    void roll_back(const ServerLedger& ledger);
    // Orders a checkpoint of everything ordered so far. Returns the position.
    uint64_t checkpoint() { return order(ServerStep::checkpoint, kNoRank, 0).position; }

    // Whether this worker's clock is the slowest and holds back a pull of another.
    bool holds_up(Rank rank) const;

    // The pulls that staleness holds back: the workers that wait, and those that are too slow.
    struct HeldUp {
        std::vector<Rank> waiting;
        std::vector<Rank> slow;
        TimePoint since;  // of the oldest pull
    };
    std::optional<HeldUp> held_up() const;

    const ServerClocks& clocks() const { return clocks_; }
    const std::map<uint64_t, uint64_t>& live_versions() const { return versions_; }
    ServerStatistics statistics() const {
        ServerStatistics now = statistics_;
        now.waiting = waiting_.size();
        return now;
    }
    uint64_t position() const { return position_; }
    bool is_waiting(Rank rank) const { return waiting_.contains(rank); }

  private:
    struct Pull {
        uint64_t clock = 0;
        uint64_t own = 0;
        Range range;
        uint64_t number = 0;  // in the order of requests
        TimePoint asked;
    };
    ServerEntry& order(ServerStep step, Rank rank, uint64_t clock);
    bool is_allowed(Rank rank, const Pull& pull) const;
    void evict(ServerEntry& entry);
    void take_up_versions(const ServerLedger& ledger);
    void serve(Rank rank, const Pull& pull, TimePoint now);
    void look_again(TimePoint now);

    ServerOptions options_;
    std::unique_ptr<RateRule> rule_;
    ServerClocks clocks_;
    std::map<uint64_t, uint64_t> versions_;       // live ones -> number of updates
    std::map<Rank, ServerClocks::Worker> known_;  // from a ledger, not back yet
    std::set<Rank> newcomers_;                    // members that no ledger knows
    std::map<Rank, Pull> waiting_;
    uint64_t asked_ = 0;
    std::optional<uint64_t> assigned_;  // round
    uint64_t position_ = 0;
    std::vector<ServerEntry> ordered_;
    ServerStatistics statistics_;
};

}  // namespace pace::controller
