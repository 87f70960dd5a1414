// Missed: the sums of the rounds that late workers of this node have not been given yet.
//
// The receive buffer of the paper (eager-SGD, section 4.1) holds the last round alone, so that a
// worker that is two rounds behind loses one. Here it gets their sum. Workers that miss the same
// first round share it, so that there are as many sums as there are different lags among the late
// workers of the node, however many rounds they miss.
//
// The order of addition is that of the rounds, from the first one missed (running_sum.h): all
// workers, on whatever nodes, that miss the same rounds get the same bits. A replica that adds this
// sum w + (r_1 + r_2) equals, bit for bit, one that added (w + r_1) + r_2 wherever those additions
// are exact, and no one sum of bounded size could do better in general; the rest is rounding, which
// the job's regular averaging of models takes away.
//
// One thread. What touches sums is work of a strand, in the order of the calls: which worker misses what is known at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout.h"
#include "daemon/kernels/strand.h"
#include "daemon/partial/pay.h"
#include "daemon/partial/roster.h"
#include "daemon/partial/running_sum.h"

namespace pace::partial {

// Rounds first, first + 1, … first + count - 1.
struct MissedRounds {
    uint64_t first = 0;
    uint64_t count = 0;
};

class Missed {
  public:
    // Without a strand the calls do the work themselves. `pay` is for the sums.
    explicit Missed(collectives::Layout layout,
                    std::shared_ptr<kernels::Strand> strand = std::make_shared<kernels::Strand>(),
                    Pay pay = {})
        : layout_(std::move(layout)), strand_(std::move(strand)), pay_(std::move(pay)) {}
    Missed(const Missed&) = delete;
    Missed& operator=(const Missed&) = delete;

    // A round's layout.bytes() bytes, and what they are in, which stays until they have been read.
    struct Outcome {
        const std::byte* data = nullptr;
        std::shared_ptr<const void> keep;
    };

    // `round` has ended with `result` and these workers were not there to
    // get it. Whoever missed the round before and has not called since misses this one too, whether
    // named or not. Every round is added once, in order. ErrorKind::memory: the workers that are
    // new to this miss nothing, and need the model anew.
    base::Result<> add(uint64_t round, Outcome result, std::span<const Rank> late);

    // The worker misses the rounds from `first` on, which have ended with these results: all until
    // now, in order. ErrorKind::memory: it misses nothing, and needs the model anew.
    base::Result<> enter(Rank rank, uint64_t first, std::vector<Outcome> results);

    // What the worker would be given now.
    std::optional<MissedRounds> rounds(Rank rank) const;

    // Has the sum of what the worker missed written to its buffers, a pointer per segment, and forgets
    // that it did. They are in `keep`. None, and nothing is written: it missed nothing.
    std::optional<MissedRounds> take(Rank rank, std::vector<std::byte*> segments,
                                     std::shared_ptr<const void> keep = nullptr);

    // The worker is gone, or was given the whole model.
    void forget(Rank rank);

    // How many sums there are.
    size_t sums() const { return cohorts_.size(); }

  private:
    // The workers that miss the same rounds.
    struct Cohort {
        std::shared_ptr<RunningSum> sum;
        uint64_t count = 1;
        std::vector<Rank> ranks;
    };
    using Cohorts = std::map<uint64_t, Cohort>;  // by the first round

    Cohorts::const_iterator cohort_of(Rank rank) const;
    base::Result<std::shared_ptr<RunningSum>> new_sum() const;

    collectives::Layout layout_;
    std::shared_ptr<kernels::Strand> strand_;
    Pay pay_;
    Cohorts cohorts_;
};

}  // namespace pace::partial
