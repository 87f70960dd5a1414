// Adoptions: a newcomer's first broadcast is answered with the current model of a healthy worker.
//
// The model is taken at the donor's next *boundary*: when it has a request waiting, whose buffers are made, and none in an
// exchange, so that its trainer is not writing; of one that goes on with its buffers, the copy of them is taken. Copies are made
// beside the loop; meanwhile nothing is written to the job's buffers here (model_hold.h), and a donor whose request has ended before
// that has given nothing. What travels is one vector: a header, the buffers of the donor's latest broadcast
// (or, if it has made none with this daemon, of its average), and, if the job keeps one, the initial model.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
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

    // The worker's model is here, at its next boundary at the latest.
    static bool has_model(const Worker& worker);

    // For whom a newcomer waits, in words.
    std::string awaited(const Worker& newcomer) const;

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

    // A worker's model at a boundary, as it was then.
    struct Model {
        WorkerPtr donor;
        std::vector<BufferPtr> buffers;
        std::vector<const std::byte*> segments;  // what they held
        std::shared_ptr<Scratch> copy;           // in which the segments lie; null: in the buffers
        uint64_t request = 0;  // the donor's, by its serial: as long as that, nobody writes there
        Origin origin;
        // Whether its memory still is what it was.
        bool stands() const {
            return copy || (!donor->queue.empty() && donor->head().serial == request);
        }
    };
    // A model on its way to another node, and what it is made of.
    struct Packing;

    void copy_held(size_t bytes, std::function<void()> work, std::function<void()> done);
    void donate(const Donation& donation, const Model& model);
    void cannot_give(const Donation& donation, const base::Error& error);
    void give(const Donation& donation, const Model& model);
    void packed(const std::shared_ptr<Packing>& packing);
    static std::vector<BufferPtr> model_of(const Worker& donor);
    void donate_from_device(const DeviceLane& lane, Model model, std::vector<Donation> due);
    void take_here(const WorkerPtr& newcomer, control::Rank donor, const Model& model);
    void take_from(const WorkerPtr& newcomer, control::Rank donor, NodeId node);
    void copied(const WorkerPtr& newcomer, Origin origin);
    void arrived(const std::shared_ptr<Transfer>& taking, const WorkerPtr& newcomer);
    void taken(const WorkerPtr& newcomer, Origin origin, const base::Result<>& result);
    uint64_t number(control::Rank newcomer) const;
    Transfer::About about(control::Rank newcomer, NodeId other) const;

    JobState& job_;
    std::vector<Donation> donations_;
    std::map<control::Rank, control::Rank> donors_;  // of this node's newcomers
    std::vector<std::weak_ptr<Transfer>> gifts_;
    std::vector<std::weak_ptr<Transfer>> takings_;
};

}  // namespace pace::daemon
