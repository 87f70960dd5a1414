// Store: what this node's workers give to the rounds of a job, and how far each has come.
//
// A worker hands in a gradient that it computed with the results of some number of rounds, its
// base. In time for the round that it was computed for, it stays where it is, in the worker's
// memory. Late, it is copied, added to what the store has of the worker already (G' = stale + new)
// and goes into the next round, or is forgotten (backup workers). take() moves everything out at
// one moment: a gradient is in exactly one round, and one that is handed in afterwards in a later
// one. A round that fails puts back what it took.
//
//     hand_in ──▶ stored ── take(round) ──▶ in the round ── recycle ──▶ gone
//                   ▲                             │
//                   └───────── put_back ──────────┘
//
// One thread, the event loop's. Late gradients are copied and added by a strand: the store says that it has them at once, and take()
// waits until is_made().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout.h"
#include "daemon/kernels/strand.h"
#include "daemon/partial/contribution.h"
#include "daemon/partial/roster.h"
#include "daemon/partial/terms.h"

namespace pace::partial {

// What becomes of a gradient whose round went without it.
enum class Late : uint8_t {
    accumulate,  // it goes into the next one: eager-SGD
    drop,        // it is forgotten: backup workers
};

enum class HandIn : uint8_t {
    lent,       // the worker's memory stays as it is until the round has ended, or secure()
    copied,     // the worker's memory is free once the strand has come to it
    forgotten,  // likewise
};

// What the store gave to a round.
struct Taken {
    Rank rank = 0;
    Contribution contribution;
};

class Store {
  public:
    // `strand` does what touches gradients, in the order of the calls. Without one they do that themselves. `pay` is for copies.
    explicit Store(Late late,
                   std::shared_ptr<kernels::Strand> strand = std::make_shared<kernels::Strand>(),
                   Pay pay = {})
        : late_(late), strand_(std::move(strand)), pay_(std::move(pay)) {}
    Store(collectives::Layout layout, Late late) : Store(late) { agree({std::move(layout), true}); }
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    // What everybody hands in is like. Before anybody does; not again.
    void agree(Terms terms) { terms_ = std::move(terms); }
    const std::optional<Terms>& terms() const { return terms_; }
    // After agree().
    const collectives::Layout& layout() const { return terms_->layout; }
    kernels::Strand& strand() { return *strand_; }

    // All that was given is there: copied and added.
    bool is_made() const { return making_->pending == 0; }
    // Called each time that this becomes true, never from inside a call.
    void when_made(std::function<void()> made) { making_->made = std::move(made); }

    // A worker begins with the results of the rounds before `round`.
    void join(Rank rank, uint64_t round);
    // It is gone, and what it gave is forgotten unless a round has it.
    void leave(Rank rank);
    bool has_worker(Rank rank) const { return workers_.contains(rank); }

    // The worker has been given the results of all rounds before `round`.
    void advance(Rank rank, uint64_t round);

    // Takes a gradient of the worker's present base. An empty one (no segments) gives nothing.
    // `segments` stay valid as the outcome says; `keep` holds whatever they point into.
    // ErrorKind::invalid for a stranger or a wrong number of segments, ErrorKind::memory; then
    // nothing has changed.
    base::Result<HandIn> hand_in(Rank rank, Segments segments, std::shared_ptr<const void> keep);

    // Copies what the worker has lent, so that it may have its memory back before the round has it.
    // Does nothing where a round has taken it: that round must end first.
    base::Result<> secure(Rank rank);

    // Forgets what the worker has lent, so that its memory is free and nothing of it counts. False, and nothing has changed, if
    // it has lent nothing, or a round has it.
    bool take_back(Rank rank);

    // The worker's present base; none for a stranger.
    std::optional<uint64_t> base(Rank rank) const;

    // Of the worker's contribution, should `round` take it now; none: it has nothing to give.
    std::optional<uint32_t> staleness(Rank rank, uint64_t round) const;

    // The workers without which `round` must not go on, ascending: they have nothing in the store,
    // and if the round went without them their next gradient would be more than `staleness_max`
    // rounds old when it counts. Empty where late gradients are forgotten.
    std::vector<Rank> awaited(uint64_t round, uint32_t staleness_max) const;

    // `round` is over, whether it has taken here or not: what is handed in for it is late.
    void close(uint64_t round) { open_round_ = std::max(open_round_, round + 1); }

    // Moves out what these workers (ascending) have, by rank, all of it made. From now on what is handed in with a
    // base of `round` or before is late.
    std::vector<Taken> take(uint64_t round, std::span<const Rank> ranks);

    // `round` has failed and is to be done again, or never: what it took is the store's again,
    // before what was handed in meanwhile. What a worker gave that has left is forgotten.
    // ErrorKind::memory if two had to be added and could not be: the newer one of those is lost.
    base::Result<> put_back(uint64_t round, std::vector<Taken> taken);

    // The round has ended well: its memory serves the next late gradients.
    void recycle(std::vector<Taken> taken);

  private:
    struct Worker {
        uint64_t base = 0;
        std::optional<Contribution> stored;
        Contribution::Memory spare;
    };
    // What the strand is still to do. It may outlive the store, together with the strand.
    struct Making {
        size_t pending = 0;
        size_t calls = 0;  // of the store, that have not returned
        std::function<void()> made;
    };
    class Call;
    kernels::Strand::Done making();

    std::optional<Terms> terms_;
    Late late_;
    std::shared_ptr<kernels::Strand> strand_;
    Pay pay_;
    std::shared_ptr<Making> making_ = std::make_shared<Making>();
    uint64_t open_round_ = 0;  // the first that has not taken yet
    std::map<Rank, Worker> workers_;
};

}  // namespace pace::partial
