// Handover: what a node still owes that is not in a job's view any more goes to a node that is.
//
// The view that lacks the node names it as a leaver, to itself and to all others: so both sides know of whom, to whom, and under
// which numbers. It gives a list of what follows, of a fixed size, then each debt: one float per element. Before, it waits for
// what it is taking over itself. A node that died gives nothing; one that owes nothing says so. Later views disturb none of this.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "daemon/exchange/gift.h"
#include "daemon/exchange/job_state.h"
#include "daemon/exchange/scratch.h"
#include "daemon/exchange/taking.h"

namespace pace::daemon {

// Of the buffers of one kind of reduction: the digest of their lengths, a float per element, and what keeps these.
struct Debt {
    uint64_t counts = 0;
    std::span<float> values;
    std::shared_ptr<const void> memory;
};

class Handover {
  public:
    struct Events {
        std::function<void(Debt)> inherit;  // this node takes the debt over
        std::function<void()> settled;      // it takes no more, so far
    };

    Handover(JobState& job, Events events) : job_(job), events_(std::move(events)) {}
    ~Handover();
    Handover(const Handover&) = delete;
    Handover& operator=(const Handover&) = delete;

    // A new view has been committed; it lacks these nodes.
    void commit_view(const std::vector<NodeId>& leavers);
    // This node is one of them, and has not given yet.
    bool is_leaving() const { return leaving_.has_value(); }
    bool is_taking() const { return takings_under_way_ != 0; }
    void give(std::vector<Debt> debts);
    // This node is excluded.
    void stop(const base::Error& error);

  private:
    struct Leaving {
        uint64_t epoch = 0;
        NodeId heir = 0;
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
