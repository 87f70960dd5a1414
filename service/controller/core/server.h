// Server: the one order of all pushes and pulls of a server job (Jiang et al., SIGMOD 2017, sections 5 and 6).
//
// An update gets the next position once every shard of the model holds it; a pull gets one once staleness allows it, and the
// worker's own earlier updates have theirs. All daemons act upon the positions in order, so that a shard that has come to
// position p has the updates up to p and no other: whoever pulls at p gets the same model from each, which is
// the paper's stable version. What an update counts, the rate rule says here, once for all shards.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "service/controller/core/types.h"
#include "service/controller/policies/rate_rule.h"
#include "service/controller/policies/server_clocks.h"

namespace pace::controller {

struct ServerOptions {
    std::optional<uint64_t> staleness;  // s: 0 is BSP, none is ASP
    Rate rate = Rate::dynamic;
    double constant = 0;  // λ
};

struct ServerStatistics {
    // Pushes by how many newer versions there were than the one that they rested on; the last counts all others too.
    std::array<uint64_t, 64> staleness{};
    uint64_t pulls = 0;
    uint64_t waiting = 0;              // pulls, now
    double waited_total_s = 0;         // of all pulls that staleness held back
    uint64_t waited = 0;               // their number
    std::map<Rank, double> waited_by;  // seconds, of each worker's that were held back
};

class Server {
  public:
    explicit Server(const ServerOptions& options);

    // Begins at the slowest clock. Adding a member twice changes nothing.
    void add_member(Rank rank);
    // The same; what a ledger says of the rank is of another worker.
    void add_newcomer(Rank rank);
    // Nobody waits for it any more; what it has asked for is forgotten.
    void remove_member(Rank rank, TimePoint now);

    // What the round has given all workers becomes the model. A round that is not later than the last one does nothing.
    void assign(uint64_t round);
    // All shards hold the worker's update. One that is ordered already, or of no member, does nothing.
    void stored(Rank rank, uint64_t clock, TimePoint now);
    // The worker wants the model for its step of `clock`, with those of its own updates whose clock is below `own`. Replaces
    // what it has asked for before.
    struct Range {
        uint64_t first = 0;
        uint64_t count = 0;
    };
    void asked(Rank rank, uint64_t clock, uint64_t own, TimePoint now) {
        asked(rank, clock, own, Range{}, now);
    }
    void asked(Rank rank, uint64_t clock, uint64_t own, Range range, TimePoint now);
    // False if no pull of it waits.
    bool withdraw(Rank rank);
    // Takes what has been ordered, in order, to the end of `ret_entries`.
    void take(std::vector<ServerEntry>& ret_entries);

    // What a daemon that has come to the last position knows too.
    ServerLedger ledger() const;
    // After the controller has forgotten: the members, those that come later too, go on as the ledger says. What has been ordered meanwhile is
    // void; members that the ledger does not know, and newcomers, join after its position.
    void restore(const ServerLedger& ledger, TimePoint now);
    // Those of a ledger that are not members by now have been given up, and leave: when they come, they come as new ones.
    void forget_missing(TimePoint now);
    // There is another model: nothing of the old one's versions holds.
    void begin_anew();
    // Rounds of before do not come any more: after a view a node says again what was not ordered, and no other.
    void forget_assigned() { assigned_.reset(); }
    // The model is that of this ledger again. Members that it does not know begin at its slowest clock.
    void roll_back(const ServerLedger& ledger);
    // All that has been ordered so far is to be saved. Returns the position.
    uint64_t checkpoint() { return order(ServerStep::checkpoint, kNoRank, 0).position; }

    // Its clock is the slowest, and holds back somebody's pull.
    bool holds_up(Rank rank) const;

    // The pulls that staleness holds back: whose they are, and who is too far behind for them.
    struct HeldUp {
        std::vector<Rank> waiting;
        std::vector<Rank> slow;
        TimePoint since;  // the oldest
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
        uint64_t number = 0;  // in the order of asking
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
    std::map<uint64_t, uint64_t> versions_;       // live ones, and how many updates each has
    std::map<Rank, ServerClocks::Worker> known_;  // from a ledger, not back yet
    std::set<Rank> newcomers_;                    // members of which no ledger knows
    std::map<Rank, Pull> waiting_;
    uint64_t asked_ = 0;
    std::optional<uint64_t> assigned_;  // round
    uint64_t position_ = 0;
    std::vector<ServerEntry> ordered_;
    ServerStatistics statistics_;
};

}  // namespace pace::controller
