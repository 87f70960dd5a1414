// Adoptions: a newcomer's first broadcast is answered with the current model of a healthy worker.
//
// The model is taken at the donor's next *boundary*: when it has a request waiting, whose buffers are made, and none in an
// exchange, so that its trainer is not writing; of one that goes on with its buffers, the copy of them is taken. What travels is one vector: a header, the buffers of the donor's latest broadcast,
// and, if the job keeps one, the initial model.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/exchange/exchange.h"
#include "daemon/exchange/gift.h"
#include "daemon/exchange/job_state.h"

namespace pace::daemon {

class Adoptions {
  public:
    explicit Adoptions(JobState& job) : job_(job) {}

    // A new view lists who adopts whose model; earlier lists are void.
    void commit(const control::CommitView& view);
    void stop(const base::Error& error);

    // The worker is at a boundary: whoever waits for its model gets it now.
    void at_boundary(const WorkerPtr& donor);

  private:
    struct Donation {
        control::Rank donor = 0;
        control::Rank newcomer = 0;
        NodeId node = 0;  // the newcomer's
    };
    // Where a model stands.
    struct Origin {
        uint64_t iteration = 0;  // its donor's
        uint64_t round = 0;      // it has the results of the rounds before
    };
    class Taking;

    // A worker's model at a boundary, as it was then.
    struct Model {
        std::vector<BufferPtr> buffers;
        std::vector<const std::byte*> segments;  // what they held
        Origin origin;
    };

    void donate(const Donation& donation, const Model& model);
    static std::vector<BufferPtr> model_of(const Worker& donor);
    void donate_from_device(const DeviceLane& lane, Model model, std::vector<Donation> due);
    void take_here(const WorkerPtr& newcomer, control::Rank donor, const Model& model);
    void take_from(const WorkerPtr& newcomer, NodeId node);
    void taken(const WorkerPtr& newcomer, Origin origin, const base::Result<>& result);
    uint64_t number(control::Rank newcomer) const;
    base::Result<Scratch> pack(const Model& model, size_t& ret_bytes) const;

    JobState& job_;
    std::vector<Donation> donations_;
    std::vector<std::weak_ptr<Gift>> gifts_;
    std::vector<std::weak_ptr<Taking>> takings_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace pace::daemon
