// Adoptions: a newcomer's first broadcast is answered with the current model of a healthy worker.
//
// The model is taken at the donor's next *boundary*: the donor has a request waiting whose buffers
// are made, and none in an exchange, so its trainer is not writing. If the trainer goes on with its
// buffers, their copy is taken. Models are copied off the event loop; meanwhile nothing is written
// to the job's buffers here (model_hold.h). A donor whose request ends before the copy is complete
// has given nothing. One vector travels: a header, the buffers of the donor's latest broadcast (or
// of its average, if it has made no broadcast with this daemon), and the initial model if the job
// keeps one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/exchange/exchange.h"
#include "daemon/exchange/giving.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

class Adoptions {
  public:
    explicit Adoptions(JobState& job) : job_(job) {}

    // A new view lists which newcomer adopts whose model; earlier lists are void.
    void commit(const control::CommitView& view);
    void stop(const base::Error& error);

    // For whom a newcomer waits, in words.
    std::string awaited(const Worker& newcomer) const;

    // The donor is at a boundary: newcomers that wait for its model get it now.
    void at_boundary(const WorkerPtr& donor);

  private:
    struct Donation {
        control::Rank donor = 0;
        control::Rank newcomer = 0;
        NodeId node = 0;  // the newcomer's
    };
    // How far training had come in a model.
    struct Origin {
        uint64_t iteration = 0;  // the donor's
        uint64_t round = 0;      // the model has the results of the rounds before this one
    };

    // A donor's model, as it was at a boundary.
    struct Model {
        WorkerPtr donor;
        std::vector<BufferPtr> buffers;
        std::vector<const std::byte*> segments;  // the buffers' contents at the boundary
        std::shared_ptr<Scratch> copy;  // memory of the segments; null: the buffers themselves
        // Serial of the donor's request: while that request is its first, nobody writes to the
        // buffers.
        uint64_t request = 0;
        Origin origin;
        // Whether the model's memory still holds what it held at the boundary.
        bool stands() const {
            return copy || (!donor->queue.empty() && donor->head().serial == request);
        }
    };
    // A model that is packed for another node.
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
    void transferred(const std::shared_ptr<Transfer>& taking, const WorkerPtr& newcomer,
                     control::Rank donor, uint64_t request, const base::Result<>& result);
    void copied(const WorkerPtr& newcomer, Origin origin);
    void arrived(const std::shared_ptr<Transfer>& taking, const WorkerPtr& newcomer);
    void taken(const WorkerPtr& newcomer, Origin origin, const base::Result<>& result);
    uint64_t number(control::Rank newcomer) const;
    Transfer::About about(control::Rank newcomer, NodeId other) const;

    JobState& job_;
    std::vector<Donation> donations_;
    std::map<control::Rank, control::Rank> donors_;  // each newcomer of this node, and its donor
    std::vector<std::weak_ptr<Transfer>> givings_;
    std::vector<std::weak_ptr<Transfer>> takings_;
};

}  // namespace pace::daemon
