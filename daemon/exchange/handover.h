// Handover: what a node still owes when its last worker of a job leaves goes to the next node of the view.
//
// The node that leaves gives a list of what follows, of a fixed size, then each debt: one float per element. The heir, which
// learns of the leaving by the next view, takes them in exchanges numbered by the last view in which both were. A node that
// died gives nothing; one that owes nothing says so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "daemon/exchange/gift.h"
#include "daemon/exchange/job_state.h"
#include "daemon/exchange/taking.h"

namespace pace::daemon {

// Of the buffers of one kind of reduction: the digest of their lengths, a float per element.
struct Debt {
    uint64_t counts = 0;
    std::vector<float> values;
};

class Handover {
  public:
    // `inherit` is called for each debt that this node takes over.
    Handover(JobState& job, std::function<void(Debt)> inherit)
        : job_(job), inherit_(std::move(inherit)) {}

    // The last worker here has left.
    void give(std::vector<Debt> debts);
    // A new view has been committed, after the one given.
    void commit_view(const View& before);
    void stop(const base::Error& error);

  private:
    uint64_t number(uint64_t epoch, NodeId leaver, uint64_t part) const;
    void take_list(NodeId leaver, uint64_t epoch);
    void take_debts(NodeId leaver, uint64_t epoch, std::span<const std::byte> list_untrusted);
    void take(NodeId leaver, uint64_t epoch, uint64_t part, size_t bytes,
              const std::function<void(std::span<const std::byte>)>& taken);

    JobState& job_;
    std::function<void(Debt)> inherit_;
    std::vector<std::weak_ptr<Taking>> takings_;
};

}  // namespace pace::daemon
