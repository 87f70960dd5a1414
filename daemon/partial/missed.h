// Missed: the sums of the rounds whose results the late workers of this node have not received yet.
//
// The paper's receive buffer (eager-SGD, section 4.1) holds only the last round. So a worker that
// is two rounds behind loses one round there. Here the worker gets the sum of both. Workers with
// the same first missed round share a sum. So there are as many sums as there are different lags
// among the late workers of the node, however many rounds they miss.
//
// The rounds are added in their order, from the first missed round on (running_sum.h). So all
// workers on all nodes that miss the same rounds get the same bits. A replica that adds this sum
// gets w + (r_1 + r_2). Another replica got (w + r_1) + r_2. Both are equal, bit for bit, wherever
// the additions are exact. In general no single sum of bounded size can do better. The rest is
// rounding, and the job's regular averaging of models removes the rounding differences.
//
// Used in one thread. A strand does the work on the sums, in the order of the calls. The rounds
// that each worker misses are known at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/collectives/layout/layout.h"
#include "daemon/kernels/strand.h"
#include "daemon/partial/agreement/roster.h"
#include "daemon/partial/pay.h"
#include "daemon/partial/running_sum.h"

namespace pace::partial {

// The rounds first, first + 1, … first + count - 1.
struct MissedRounds {
    uint64_t first = 0;
    uint64_t count = 0;
};

class Missed {
  public:
    // Without a strand, the calls do the work themselves. `pay` charges for the sums.
    explicit Missed(collectives::Layout layout,
                    std::shared_ptr<kernels::Strand> strand = std::make_shared<kernels::Strand>(),
                    Pay pay = {})
        : layout_(std::move(layout)), strand_(std::move(strand)), pay_(std::move(pay)) {}
    Missed(const Missed&) = delete;
    Missed& operator=(const Missed&) = delete;

    // A round's result of layout.bytes() bytes. `keep` keeps the bytes alive until they have been
    // read.
    struct Outcome {
        const std::byte* data = nullptr;
        std::shared_ptr<const void> keep;
    };

    // Adds a round that has ended with `result`. The workers in `late` were not there to get the
    // result. A worker that missed the round before and has not called since misses this round too,
    // whether `late` names it or not. Every round is added once, in order. Returns
    // ErrorKind::memory if there is no memory. The workers that are new in `late` then miss
    // nothing, and need the whole model.
    base::Result<> add(uint64_t round, Outcome result, std::span<const Rank> late);

    // Declares that the worker misses the rounds from `first` on. `results` are the results of all
    // these rounds until now, in order. Returns ErrorKind::memory if there is no memory. The worker
    // then misses nothing, and needs the whole model.
    base::Result<> enter(Rank rank, uint64_t first, std::vector<Outcome> results);

    // The rounds whose sum take() would write for the worker now.
    std::optional<MissedRounds> rounds(Rank rank) const;

    // Writes the sum of the rounds that the worker missed to the worker's buffers, and forgets that
    // the worker missed them. `segments` has a pointer per segment. `keep` keeps the buffers alive.
    // If the worker missed nothing, returns nothing and writes nothing.
    std::optional<MissedRounds> take(Rank rank, std::vector<std::byte*> segments,
                                     std::shared_ptr<const void> keep = nullptr);

    // Forgets a worker that is gone or was given the whole model.
    void forget(Rank rank);

    // The number of sums.
    size_t sums() const { return cohorts_.size(); }

  private:
    // Workers that miss the same rounds.
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
