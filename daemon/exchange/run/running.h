// Running: what the ways of an exchange (ways/way.h) share while it is under way: the plan, the
// memory in which the result forms, the other nodes, and how to wait.
//
// Used only in the loop's thread. Whoever waits is kept by the exchange, which ends last.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/layout/deliver.h"
#include "daemon/collectives/layout/local_part.h"
#include "daemon/collectives/layout/signal.h"
#include "daemon/collectives/messages/communicator.h"
#include "daemon/exchange/run/plan.h"
#include "daemon/runtime/scratch.h"
#include "daemon/runtime/services.h"

namespace pace::daemon {

class Running : public std::enable_shared_from_this<Running> {
  public:
    Running(Services& services, ExchangePlan plan, Scratch scratch);
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() = default;

    // Finds the other nodes, and memory for the result.
    base::Result<> join_nodes();

    // The exchange ends with this error, unless it already writes to the members. The first error
    // counts.
    void abort(const base::Error& error);
    void peer_lost(transports::PeerId peer, const base::Error& error);
    bool is_aborted() const { return abort_.has_value(); }

    // Has the contents of members on GPUs come to the host. If they do not, they are lost.
    base::Task<base::Result<>> contents_on_host();
    // The twins on the host of the members' buffers on GPUs are there.
    base::Task<base::Result<>> twins_there();
    // Waits until all members have made their buffers.
    base::Task<base::Result<>> members_ready();
    // Waits until this node may write to members' buffers.
    base::Task<> free_to_write();
    // Waits until the result counts, if this node may have been given up by the others.
    base::Task<base::Result<>> sure(base::Result<> result);

    // Runs work in the pool that would block the loop.
    base::Task<> in_pool(std::function<void()> work);
    // In the pool if the work touches enough bytes to block the loop; else at once.
    base::Task<> aside(size_t bytes, std::function<void()> work);
    // Waits for the pool, which gets a notice: `begin` hands it over.
    base::Task<> in_pieces(const std::function<void(collectives::Notice)>& begin);
    // Until when this node was seen to be busy with what no other node knows of.
    // `works`: whether the way is, too.
    base::TimePoint busy_until(base::TimePoint now, bool works);

    // Copies the result to those recipients that have not got it.
    base::Task<base::Result<>> deliver();

    collectives::Communicator::Counters traffic() const;
    // Whether the scratch may hold something else than when the exchange began.
    bool scratch_touched() const;

    Services& services;
    ExchangePlan plan;
    Scratch scratch;
    std::span<std::byte> result;  // in the scratch, or in a recipient's memory
    collectives::LocalPart part;
    std::vector<collectives::Recipient> recipients;  // that the host writes to
    // Null if this node is alone.
    std::unique_ptr<collectives::Communicator> communicator;
    std::unique_ptr<SparseRun> sparse;  // of a top-k reduction
    // A GPU has failed, or not all members were written to: their contents are unknown.
    bool contents_lost = false;

  private:
    base::Result<> place_result();
    // Waits for something that only this node knows of. Whoever changes `ended` notifies changed_.
    base::Task<> until(const bool& ended);
    // Sets `ended`, which until() waits for.
    base::Callback ends(bool& ended);
    void is_sure_now();
    void wake_members();

    std::optional<base::Error> abort_;
    collectives::Signal changed_;
    bool is_sure_ = true;  // that the result counts
    bool busy_ = false;    // with what no other node knows of
    base::TimePoint busy_until_{};
};

}  // namespace pace::daemon
