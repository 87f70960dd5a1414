// SparseRun: the top-k reduction within an exchange. The nodes are the participants; or, flat,
// every worker is one. Then several participants are on this node, each with a residual of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/loop/task.h"
#include "daemon/collectives/layout/local_part.h"
#include "daemon/collectives/messages/communicator.h"
#include "daemon/runtime/scratch.h"
#include "daemon/runtime/services.h"
#include "daemon/sparse/exchange/flat_transport.h"
#include "daemon/sparse/sparse_all_reduce.h"

namespace pace::daemon {

// A participant on this node.
struct SparseParticipant {
    size_t number = 0;  // among all participants; flat only
    std::shared_ptr<sparse::SparseState> state;
};

struct SparsePlan {
    sparse::Options options;
    // The node of each participant, by number; empty: the nodes are the participants.
    std::vector<NodeId> hosts;
    // This node's participants: one, or flat one per contribution of the exchange.
    std::vector<SparseParticipant> participants;
    // The number of the exchange among workers.
    uint64_t number = 0;
};

class SparseRun {
  public:
    // `payer` pays for memory other than the exchange's result.
    SparseRun(Services& services, SparsePlan plan, Payer payer)
        : services_(services), plan_(std::move(plan)), payer_(std::move(payer)) {}
    ~SparseRun();
    SparseRun(const SparseRun&) = delete;
    SparseRun& operator=(const SparseRun&) = delete;

    bool is_flat() const { return !plan_.hosts.empty(); }
    const SparsePlan& plan() const { return plan_; }

    // Flat: connects the participants, of which `self` is this node. Called before run().
    base::Result<> connect(uint32_t check, NodeId self);

    // Runs as sparse_all_reduce() does. `nodes` is the exchange's communicator. `part` is what all
    // of this node's workers contribute, in the order of the participants.
    base::Task<base::Result<>> run(collectives::Communicator& nodes,
                                   const collectives::LocalPart& part, double scale,
                                   std::span<std::byte> result);
    const sparse::Report& report() const { return report_; }
    std::vector<std::byte> take_hidden() { return std::exchange(report_.hidden, {}); }

    // These are of a flat run; other runs have none of their own.
    bool result_begun() const;
    void abort(const base::Error& error);
    void peer_lost(transports::PeerId peer, const base::Error& error);
    base::TimePoint last_progress() const;
    std::vector<NodeId> waiting_for() const;
    collectives::Communicator::Counters traffic() const;

  private:
    struct Local {
        size_t number = 0;
        std::unique_ptr<collectives::LocalPart> part;
        std::unique_ptr<collectives::Communicator> communicator;
        Scratch memory;  // of all but the first, whose result is the exchange's
    };

    base::Task<base::Result<>> run_flat(const collectives::LocalPart& part, double scale,
                                        std::span<std::byte> result);
    base::Task<base::Result<>> run_one(size_t index, double scale, std::span<std::byte> result);
    kernels::WorkerPool::Post post() const;

    Services& services_;
    SparsePlan plan_;
    Payer payer_;
    NodeId self_ = 0;
    std::unique_ptr<sparse::FlatNode> flat_;
    std::vector<Local> locals_;
    sparse::Report report_;
};

}  // namespace pace::daemon
