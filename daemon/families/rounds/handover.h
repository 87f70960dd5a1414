// Handover: when a node leaves a job's view, its residuals are transferred to a node that stays.
//
// The view without the node names it as a leaver, to the node itself and to all others. So both
// sides know which node gives, which one takes, and under which numbers. The leaver sends a list of
// fixed size, then each residual: one float per element. First it waits for the residuals that it
// is taking over itself. A node that died sends nothing; a node without residuals sends an empty
// list. Later views do not disturb the transfer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "daemon/exchange/giving.h"
#include "daemon/exchange/taking.h"
#include "daemon/members/job_state.h"
#include "daemon/runtime/scratch.h"

namespace pace::daemon {

// A residual of one kind of reduction: the digest of the buffers' lengths, a float per element, and
// what keeps the floats.
struct Debt {
    uint64_t counts = 0;
    std::span<float> values;
    std::shared_ptr<const void> memory;
};

class Handover {
  public:
    struct Events {
        std::function<void(Debt)> inherit;  // this node takes the residual over
        std::function<void()> settled;      // nothing more is being taken, so far
    };

    Handover(JobState& job, Events events) : job_(job), events_(std::move(events)) {}
    ~Handover();
    Handover(const Handover&) = delete;
    Handover& operator=(const Handover&) = delete;

    // A new view has been committed, without these nodes.
    void commit_view(const std::vector<NodeId>& leavers);
    // This node is a leaver, and has not transferred its residuals yet.
    bool is_leaving() const { return leaving_.has_value(); }
    bool is_taking() const { return takings_under_way_ != 0; }
    void give(std::vector<Debt> debts);
    // This node is excluded.
    void stop(const base::Error& error);

  private:
    struct Leaving {
        uint64_t epoch = 0;
        NodeId successor = 0;
    };

    Transfer::About about(NodeId other) const;
    uint64_t number(uint64_t epoch, NodeId leaver, uint64_t part) const;
    void refused(NodeId leaver, const base::Error& error) const;
    void take_list(NodeId leaver, uint64_t epoch);
    void take_debts(NodeId leaver, uint64_t epoch, std::span<const std::byte> list_untrusted);
    void take(NodeId leaver, uint64_t epoch, uint64_t part, size_t bytes,
              const std::function<void(Scratch)>& taken);

    JobState& job_;
    Events events_;
    std::optional<Leaving> leaving_;
    std::vector<std::weak_ptr<Transfer>> takings_;
    size_t takings_under_way_ = 0;
    base::Scope scope_;
};

}  // namespace pace::daemon
