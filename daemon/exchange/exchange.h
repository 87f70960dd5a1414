// Exchange: one execution of a verb by this node's members and the other nodes of its group.
//
// Input buffers are not written before the whole result has arrived: an exchange that fails leaves
// them as they were. Once the result is there the exchange commits, and nothing stops it any more.
//
// One coroutine is the whole of it (`run`): it tries the ways (ways/way.h) in order, and the first
// that is open moves the data. On this node alone, members' buffers are reduced in place. With
// other nodes, the result forms in a scratch, or in the result buffers of a member that has given
// other buffers as input. It is then copied to the other members.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/exchange/disagreement.h"
#include "daemon/exchange/outcome.h"
#include "daemon/exchange/run/running.h"
#include "daemon/runtime/active.h"

namespace pace::daemon {

class Way;

class Exchange final : public Active, public std::enable_shared_from_this<Exchange> {
  public:
    using Kind = ExchangePlan::Kind;
    using Contribution = ExchangePlan::Contribution;
    using Plan = ExchangePlan;
    using Done = std::function<void(ExchangeOutcome&)>;

    // Runs `plan`. `done` is called once: from inside this call only if all went well. `scratch` is
    // used for the result.
    static std::shared_ptr<Exchange> start(Services& services, Plan plan, Scratch scratch,
                                           Done done);
    ~Exchange() override;

    // `done` is called later, when every operation has ended.
    void abort(const base::Error& error) override;
    void peer_lost(transports::PeerId peer, const base::Error& error) override;

    // Also asks the other nodes whether they disagree, once the stall is noticeable.
    base::Duration stalled_for(base::TimePoint now) override;
    std::vector<NodeId> waiting_for() const override;
    uint32_t job() const override { return plan().job; }
    bool patient() const override { return plan().patient && !running_->is_aborted(); }
    std::string what() const override { return plan().what; }

    // Asks the other nodes whether they take part, too. An answer counts as having heard the node.
    void ask_others() { disagreement_->ask(*running_); }
    // The nodes that the exchange waits for and of which it has heard nothing: they may not know of
    // the exchange.
    std::vector<NodeId> unheard() const;

    bool ended() const { return ended_; }
    const Plan& plan() const { return running_->plan; }

  private:
    Exchange(Services& services, Plan plan, Scratch scratch, Done done);

    void begin();
    void run_ended(const base::Result<>& result);
    base::Task<base::Result<>> run();
    base::Task<base::Result<>> run_here();
    base::Task<base::Result<>> run_with_others();
    base::Task<base::Result<>> run_watched();
    base::Task<base::Result<>> come_about();
    base::Task<base::Result<>> commit();
    void count(const base::Result<>& result) const;
    void finish(const base::Result<>& result);
    ExchangeOutcome outcome(const base::Result<>& result);
    NodeId unlike() const;
    base::Duration stalled_while_making(base::TimePoint now);

    Services& services_;
    std::shared_ptr<Running> running_;
    std::vector<std::unique_ptr<Way>> ways_;  // in the order in which they are tried
    Way* way_ = nullptr;                      // the one that is tried or taken
    std::shared_ptr<Disagreement> disagreement_;
    Done done_;
    std::shared_ptr<Exchange> self_;  // held while under way
    bool is_starting_ = false;
    std::optional<base::Result<>> at_once_;  // how it ended while it was starting
    bool ended_ = false;
};

}  // namespace pace::daemon
