// Store: what this node's workers give to the rounds of a job, and how far each worker has come.
//
// A worker hands in a gradient. It computed the gradient with the results of some number of rounds,
// the gradient's base. A gradient that is in time for its round stays in the worker's memory. A
// late gradient is copied, is added to what the store already has of the worker (G' = stale + new)
// and goes into the next round. With backup workers, a late gradient is forgotten instead. take()
// moves everything out at one moment. So a gradient is in exactly one round, and a gradient that is
// handed in afterwards is in a later round. A round that fails puts back what it took.
//
//     hand_in ──▶ stored ── take(round) ──▶ in the round ── recycle ──▶ gone
//                   ▲                             │
//                   └───────── put_back ──────────┘
//
// Used in one thread, the event loop's. A strand copies and adds late gradients. The store says at
// once that it has them. The caller of take() first waits until is_made().
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
#include "daemon/collectives/layout/layout.h"
#include "daemon/kernels/strand.h"
#include "daemon/partial/agreement/roster.h"
#include "daemon/partial/contribution.h"
#include "daemon/partial/terms.h"

namespace pace::partial {

// What happens to a gradient that misses its round.
enum class Late : uint8_t {
    accumulate,  // it goes into the next round: eager-SGD
    drop,        // it is forgotten: backup workers
};

enum class HandIn : uint8_t {
    lent,       // the worker's memory must not change until the round has ended, or secure()
    copied,     // the worker's memory is free once the strand has copied it
    forgotten,  // the worker's memory is free
};

// What the store gave to a round from one worker.
struct Taken {
    Rank rank = 0;
    Contribution contribution;
};

class Store {
  public:
    // `strand` does the work on gradients, in the order of the calls. Without a strand, the calls
    // do the work themselves. `pay` charges for copies.
    explicit Store(Late late,
                   std::shared_ptr<kernels::Strand> strand = std::make_shared<kernels::Strand>(),
                   Pay pay = {})
        : late_(late), strand_(std::move(strand)), pay_(std::move(pay)) {}
    Store(collectives::Layout layout, Late late) : Store(late) { agree({std::move(layout), true}); }
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    // Sets the terms of all that is handed in. Called once, before the first hand_in().
    void agree(Terms terms) { terms_ = std::move(terms); }
    const std::optional<Terms>& terms() const { return terms_; }
    // Called only after agree().
    const collectives::Layout& layout() const { return terms_->layout; }
    kernels::Strand& strand() { return *strand_; }

    // Whether all that was given is copied and added.
    bool is_made() const { return making_->pending == 0; }
    // Sets a function that is called each time is_made() becomes true, never from inside a call of
    // the store.
    void when_made(std::function<void()> made) { making_->made = std::move(made); }

    // A worker begins with the results of the rounds before `round`.
    void join(Rank rank, uint64_t round);
    // A worker is gone. What it gave is forgotten unless a round has it.
    void leave(Rank rank);
    bool has_worker(Rank rank) const { return workers_.contains(rank); }

    // The worker has been given the results of all rounds before `round`.
    void advance(Rank rank, uint64_t round);

    // Takes a gradient of the worker's present base. A gradient without segments gives nothing.
    // `segments` must stay valid as the returned value says. `keep` keeps alive what they point
    // into. Returns ErrorKind::invalid for an unknown worker or a wrong number of segments, and
    // ErrorKind::memory if there is no memory. After an error nothing has changed.
    base::Result<HandIn> hand_in(Rank rank, Segments segments, std::shared_ptr<const void> keep);

    // Copies what the worker has lent, so that the worker may have its memory back before the round
    // takes it. Does nothing if a round has taken it: that round must end first.
    base::Result<> secure(Rank rank);

    // Forgets what the worker has lent. The worker's memory is then free, and the gradient does not
    // count. Returns false and changes nothing if the worker has lent nothing, or if a round has
    // the gradient.
    bool take_back(Rank rank);

    // The worker's present base. None for an unknown worker.
    std::optional<uint64_t> base(Rank rank) const;

    // The staleness of the worker's contribution if `round` takes it now. None if the worker has
    // nothing to give.
    std::optional<uint32_t> staleness(Rank rank, uint64_t round) const;

    // The workers without which `round` must not go on, ascending. They have nothing in the store.
    // If the round went without them, their next gradient would be more than `staleness_max` rounds
    // old when it counts. Empty if late gradients are forgotten.
    std::vector<Rank> awaited(uint64_t round, uint32_t staleness_max) const;

    // Declares that `round` is over, whether it has taken here or not. What is handed in for it
    // from now on is late.
    void close(uint64_t round) { open_round_ = std::max(open_round_, round + 1); }

    // Moves out what the workers `ranks` (ascending) have, by rank. All of it must be made. What is
    // handed in from now on with a base of `round` or less is late.
    std::vector<Taken> take(uint64_t round, std::span<const Rank> ranks);

    // Called if `round` has failed and is done again, or never. What the round took goes back to
    // the store, before what was handed in meanwhile. What a worker gave that has left is
    // forgotten. Returns ErrorKind::memory if two gradients of a worker could not be added. The
    // newer one is then lost.
    base::Result<> put_back(uint64_t round, std::vector<Taken> taken);

    // Called when the round has ended well. The memory of `taken` serves the next late gradients.
    void recycle(std::vector<Taken> taken);

  private:
    struct Worker {
        uint64_t base = 0;
        std::optional<Contribution> stored;
        Contribution::Memory spare;
    };
    // The strand's outstanding work. It may outlive the store, together with the strand.
    struct Making {
        size_t pending = 0;
        size_t calls = 0;  // calls of the store that have not returned
        std::function<void()> made;
    };
    class Call;
    kernels::Strand::Done making();

    std::optional<Terms> terms_;
    Late late_;
    std::shared_ptr<kernels::Strand> strand_;
    Pay pay_;
    std::shared_ptr<Making> making_ = std::make_shared<Making>();
    uint64_t open_round_ = 0;  // the first round that has not taken yet
    std::map<Rank, Worker> workers_;
};

}  // namespace pace::partial
