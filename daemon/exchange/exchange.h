// Exchange: one execution of a verb by this node's members and the other nodes of its group.
//
// Input buffers are not written before the whole result has arrived: an exchange that fails leaves
// them as they were. Once the result is there the exchange commits, and nothing stops it any more.
//
// On this node alone, members' buffers are reduced in place, in one pass. With other nodes, the
// result forms in a scratch, or in the result buffers of a member that has given other buffers as
// input. It is then copied to the other members.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/communicator.h"
#include "daemon/collectives/deliver.h"
#include "daemon/collectives/local_part.h"
#include "daemon/collectives/progress.h"
#include "daemon/collectives/signal.h"
#include "daemon/exchange/sparse_run.h"
#include "daemon/gpu/device_flow.h"
#include "daemon/gpu/device_gradient.h"
#include "daemon/gpu/device_sum.h"
#include "daemon/gpu/gpu_sum.h"
#include "daemon/members/model_hold.h"
#include "daemon/members/request.h"
#include "daemon/runtime/active.h"
#include "daemon/runtime/scratch.h"
#include "daemon/runtime/services.h"

namespace pace::daemon {

// The slot on which a node tells the others of an exchange that it cannot take part as they expect.
// The message has zero bytes, and is looked at only when an exchange has stalled. The slot is in
// phase 0, which no collective uses (collectives/slots.h, sparse/messages.h).
inline constexpr uint32_t kPoisonSlot = 0x0FFFFFFFU;
// The slot on which the nodes of a stalled exchange compare what was called.
inline constexpr uint32_t kCallSlot = 0x0FFFFFFEU;
// The slot of the numbers that members also tell each other (Exchange::Plan::numbers). Slot
// 0x0FFFFFFD is gpu_sum.h's.
inline constexpr uint32_t kNumbersSlot = 0x0FFFFFFCU;

class Exchange final : public Active, public std::enable_shared_from_this<Exchange> {
  public:
    enum class Kind : uint8_t { reduce, broadcast, barrier, fetch };

    struct Contribution {
        std::vector<const std::byte*> segments;
        double weight = 1.0;
    };

    struct Plan {
        Kind kind = Kind::reduce;
        uint32_t job = 0;
        std::string what;  // in words, for the log
        // A round waits for workers that have not called yet, and the controller judges who is
        // late. A group's members are all ready, so a group that does not move is given up.
        bool patient = true;
        uint64_t number = 0;
        uint32_t check = 0;
        std::vector<NodeId> nodes;  // in node order, this one included
        // Where these nodes are, in their order (collectives/communicator.h); empty: not known.
        // Taken from the exchange's view or order, so that all nodes have the same.
        std::vector<uint32_t> zones;
        // Which NCCL each node has, in their order (0: none); empty: not known. Also the same at
        // all nodes.
        std::vector<uint32_t> nccl;
        size_t self = 0;
        size_t root = 0;  // broadcast, fetch: index of the node that gives
        double scale = 1.0;
        // The type as which a reduction travels; none: as it is.
        std::optional<protocol::DType> half;
        // Null unless the buffers are made while they travel.
        std::shared_ptr<collectives::Progress> progress;
        std::shared_ptr<SparsePlan> top_k;
        bool dense_instead = false;  // dense, although the job asks for top-k
        collectives::Layout layout;
        std::vector<Contribution> contributions;  // of this node's members, by rank
        std::vector<std::vector<BufferPtr>> recipients;
        WriteMarkList marks;  // of the requests with these buffers
        // The recipient in whose memory the result forms, and which is nobody's contribution; none:
        // the result forms in a scratch. The recipient's mark has the same index.
        std::optional<size_t> formed_by;
        // More memory that gets the result, a pointer per segment; empty: none. Must stay until the
        // exchange ends.
        std::vector<std::byte*> copy_to;
        // The GPU contents of those contributions whose buffers are on GPUs; empty if there are
        // none.
        std::vector<DeviceMember> on_device;
        // Keeps the buffers that the contributions point into.
        std::vector<BufferPtr> keep;
        // Keeps memory that the contributions or copy_to point into and that is no buffer.
        std::shared_ptr<Scratch> keep_memory{};
        // While it is held, nothing is written to the members; null: never held.
        std::shared_ptr<ModelHold> hold{};
        // Numbers that the nodes also tell each other: by node, one number for each of the node's
        // members. Own numbers are filled in beforehand. All nodes have as many. Empty: none are
        // told.
        std::vector<std::vector<uint64_t>> numbers;

        // For a mean among nodes with at most `members_max` members each. Scales the nodes' parts
        // down, so that no part becomes infinite when it is rounded for the way although the mean
        // is finite. All nodes must say the same number.
        void make_room(size_t members_max);
        // Whether the result may form in that recipient's memory.
        bool may_form_at(size_t recipient) const;
    };

    using Done = std::function<void(Exchange&, const base::Result<>&)>;

    // Runs `plan`. `done` is called once, possibly before this returns. `scratch` is used for the
    // result, and kept.
    static std::shared_ptr<Exchange> start(Services& services, Plan plan, Scratch scratch,
                                           Done done);

    // `done` is called later, when every operation has ended.
    void abort(const base::Error& error) override;
    void peer_lost(transports::PeerId peer, const base::Error& error) override;

    // Also asks the other nodes whether they disagree, once the stall is noticeable.
    base::Duration stalled_for(base::TimePoint now) override;
    std::vector<NodeId> waiting_for() const override;
    uint32_t job() const override { return plan_.job; }
    bool patient() const override { return plan_.patient && !abort_; }
    std::string what() const override { return plan_.what; }

    // Asks the other nodes whether they take part, too. An answer counts as having heard the node.
    void ask_others() { listen_for_disagreement(); }
    // The nodes that the exchange waits for and of which it has heard nothing: they may not know of
    // the exchange.
    std::vector<NodeId> unheard() const;
    // When the last of the other nodes was heard for the first time. Until then the exchange has
    // waited for their members.
    base::TimePoint met() const { return communicator_ ? communicator_->met() : base::TimePoint{}; }

    bool ended() const { return ended_; }
    // The exchange failed on this node's GPU. The members' contents there may be gone, so the
    // exchange cannot be begun again.
    bool contents_lost() const { return contents_lost_; }
    // How many elements a top-k reduction chose, once it has ended well.
    size_t entries() const { return sparse_ ? sparse_->report().chosen : 0; }
    // Goes with the result, for nodes that missed it (sparse::Report).
    std::vector<std::byte> take_hidden() {
        return sparse_ ? sparse_->take_hidden() : std::vector<std::byte>();
    }
    const Plan& plan() const { return plan_; }
    collectives::Communicator::Counters traffic() const;
    // The result, for members that missed it, after a success with other nodes.
    Scratch take_scratch() { return std::move(scratch_); }
    // As take_scratch(), for a result that formed on a GPU and is in no scratch; otherwise null.
    std::unique_ptr<DeviceResult> take_device_result();
    // Whether the scratch may hold something else than when start() was given it.
    bool scratch_touched() const;
    // After a mismatch: the node that called something else, or that was the first to say so; 0 if
    // the node is not known.
    NodeId unlike() const;
    size_t result_bytes() const { return plan_.layout.bytes(); }

  private:
    Exchange(Services& services, Plan plan, Scratch scratch, Done done);

    void begin();
    bool may_sum_where_they_are() const;
    void sum_where_they_are();
    base::Result<const pace_device_plugin_table*> kernels() const;
    void bring_to_host(std::function<void(const base::Result<>&)> then);
    void contents_came();
    base::Task<base::Result<>> contents_on_host();
    void begin_on_host();
    bool is_plain_sum() const;
    bool may_flow() const;
    base::Task<bool> flow();
    base::Result<std::vector<DeviceFlow::Place>> flow_places() const;
    base::Task<base::Result<>> pin_scratch();
    base::Task<> until(const bool& ended);
    base::Task<> in_pool(std::function<void()> work);
    base::Task<> aside(size_t bytes, std::function<void()> work);
    bool all_on_gpus() const;
    bool may_cut_on_gpu() const;
    sparse::Residual& residual_here() const;
    base::Task<bool> place_gradient();
    base::Task<base::Result<>> place_gradient_on_gpu(sparse::Residual& residual);
    base::Task<> bring_back(sparse::Residual& residual);
    void commit_cut();
    void end_cut();
    bool is_on_gpu(const collectives::Recipient& recipient) const;
    bool may_go_among_gpus() const;
    void prepare_gpus();
    bool go_among_gpus_here();
    base::Task<base::Result<bool>> meet_gpus();
    void summed_here(const base::Result<>& result);
    void commit_on_gpus();
    base::Duration stalled_on_gpus(base::TimePoint now) const;
    bool is_local() const { return plan_.nodes.size() <= 1 && !plan_.top_k; }
    bool waits_for_hold(void (Exchange::*step)());
    base::Task<base::Result<>> when_sure(base::Result<> result);
    void is_sure_now();
    void run_local();
    base::Task<base::Result<>> await_members();
    void members_ended(const base::Result<>& result);
    void wake();
    bool is_made() const { return !plan_.progress || plan_.progress->is_complete(); }
    base::Result<> join_nodes();
    base::Result<> place_result();
    base::Task<base::Result<>> reduce();
    base::Task<base::Result<>> run_among_nodes();
    base::Task<base::Result<>> run_telling();
    base::Task<base::Result<>> run_by_hosts();
    base::Task<base::Result<>> move_by_hosts();
    void network_ended(const base::Result<>& result);
    void deliver();
    collectives::Notice done_here();
    void finish(const base::Result<>& result);
    void listen_for_disagreement();

    Services& services_;
    Plan plan_;
    Scratch scratch_;
    std::span<std::byte> result_;
    Done done_;
    std::optional<collectives::LocalPart> part_;
    std::vector<collectives::Recipient> recipients_;
    std::unique_ptr<collectives::Communicator> communicator_;
    std::unique_ptr<SparseRun> sparse_;
    std::shared_ptr<DeviceFlow> flow_;     // of a sum that copies members while it travels
    std::shared_ptr<GpuSum> gpu_sum_;      // while the sum may still go from GPU to GPU
    std::shared_ptr<DeviceGradient> cut_;  // of a top-k reduction that is cut on a GPU
    std::shared_ptr<device::DeviceMemory> cut_result_;
    std::shared_ptr<Exchange> self_;  // held while under way
    bool listening_ = false;
    NodeId unlike_ = 0;             // the node that called something else, as it has told
    std::vector<NodeId> answered_;  // nodes that have said that they take part
    size_t coming_ = 0;             // members whose contents are coming from a GPU
    base::Result<> came_;           // of those that have come
    std::function<void(const base::Result<>&)> when_came_;
    collectives::Signal came_changed_;
    bool is_sure_ = true;               // that the result counts
    bool busy_here_ = false;            // with copies that no other node knows of
    base::TimePoint busy_until_{};      // when that was last seen
    std::optional<base::Error> abort_;  // the first reason for an abort
    bool contents_lost_ = false;
    bool ended_ = false;
};

// Tells the other nodes that an exchange, which may not have begun on this node, will not come
// about.
void send_poison(Services& services, uint64_t number, const std::vector<NodeId>& nodes);

// Pointers to the buffers' memory, one per segment.
std::vector<const std::byte*> segments_of(const std::vector<BufferPtr>& buffers);
std::vector<std::byte*> memory_of(const std::vector<BufferPtr>& buffers);
collectives::Layout layout_of(const std::vector<BufferPtr>& buffers);

}  // namespace pace::daemon
