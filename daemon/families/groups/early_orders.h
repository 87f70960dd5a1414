// EarlyOrders: the controller's orders that came before their members' calls. A worker that still
// computes has announced its call (ready_signals.h), so the controller may order its group. The
// order is held until all members here have called, or one of them is too late.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "daemon/members/job_state.h"

namespace pace::daemon {

class EarlyOrders {
  public:
    class Owner {
      public:
        virtual ~Owner() = default;
        // A member here has not called in time. The order is held no more.
        virtual void too_late(const control::GroupOrder& order) = 0;
    };

    EarlyOrders(const JobState& job, Owner& owner) : job_(job), owner_(owner) {}

    // Whether a member here has announced the call that the order is about, and not called yet.
    bool is_early(const control::GroupOrder& order) const;
    // The order is early. A held order of the same group is forgotten.
    void hold(const control::GroupOrder& order);

    // These hand out an order, which is held no more; or none, if no such order is held.
    std::optional<control::GroupOrder> take(control::GroupId group);
    std::optional<control::GroupOrder> take_naming(const Worker& worker);
    // One that names the worker and whose members here have all called.
    std::optional<control::GroupOrder> take_complete(const Worker& arrived);
    std::vector<control::GroupOrder> take_all();

    // The first member for whose call a held order waits that names the worker; null: there is
    // none.
    const Worker* awaited_with(const Worker& worker) const;

  private:
    struct Held {
        control::GroupOrder order;
        base::Timer timer;
    };

    const Worker* awaited(const control::GroupOrder& order, const control::Part& part) const;
    const Worker* first_awaited(const control::GroupOrder& order) const;
    base::Duration patience(const control::GroupOrder& order) const;

    const JobState& job_;
    Owner& owner_;
    std::map<control::GroupId, Held> held_;
};

}  // namespace pace::daemon
