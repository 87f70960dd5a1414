// Exchange: one execution of a verb by this node's members and the other nodes of its group.
//
// Input buffers are not written before the whole result has arrived: an exchange that fails leaves them as they were. Once the
// result is there the exchange commits, and nothing stops it any more.
//
// With this node alone, members' buffers are reduced where they lie, in one pass. With others, the result forms in a scratch,
// or where a member wants it that has given something else, and is then copied to the other members.
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
#include "daemon/exchange/active.h"
#include "daemon/exchange/device_flow.h"
#include "daemon/exchange/device_gradient.h"
#include "daemon/exchange/device_sum.h"
#include "daemon/exchange/gpu_sum.h"
#include "daemon/exchange/model_hold.h"
#include "daemon/exchange/request.h"
#include "daemon/exchange/scratch.h"
#include "daemon/exchange/services.h"
#include "daemon/exchange/sparse_run.h"

namespace pace::daemon {

// The slot on which a node tells the others of an exchange that it cannot take part as they expect. Zero bytes; looked at only
// when an exchange has stalled. Of phase 0, which no collective uses (collectives/slots.h, sparse/messages.h).
inline constexpr uint32_t kPoisonSlot = 0x0FFFFFFFU;
// The slot on which nodes of a stalled exchange compare what was called.
inline constexpr uint32_t kCallSlot = 0x0FFFFFFEU;
// The slot of what members tell each other besides (Exchange::Plan::numbers). Slot 0x0FFFFFFD is gpu_sum.h's.
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
        // A round waits for whoever has not called yet, and the controller judges who is late; a group's members are all ready,
        // so that one that does not move is given up.
        bool patient = true;
        uint64_t number = 0;
        uint32_t check = 0;
        std::vector<NodeId> nodes;  // in node order, this one included
        // Where these nodes are, in their order (collectives/communicator.h); empty: not known. From the view or
        // the order that the exchange comes from, so that all have the same.
        std::vector<uint32_t> zones;
        // Which NCCL each node has, in their order (0: none); empty: not known. All have the same, too.
        std::vector<uint32_t> nccl;
        size_t self = 0;
        size_t root = 0;  // broadcast, fetch: index of the node that gives
        double scale = 1.0;
        // How a reduction travels, where not as it is.
        std::optional<protocol::DType> half;
        // Of buffers that are made while they travel.
        std::shared_ptr<collectives::Progress> progress;
        std::shared_ptr<SparsePlan> top_k;
        bool dense_instead = false;  // of top-k
        collectives::Layout layout;
        std::vector<Contribution> contributions;  // of this node's members, by rank
        std::vector<std::vector<BufferPtr>> recipients;
        WriteMarkList marks;  // of the requests whose buffers those are
        // The recipient in whose memory the result forms, which is nobody's contribution; none: in a scratch. Its mark has the same place.
        std::optional<size_t> formed_by;
        // Memory that gets the result besides, a pointer per segment; empty: none. It must stay until the end.
        std::vector<std::byte*> copy_to;
        // Of the contributions from buffers on GPUs, what their members have there; empty if there are none.
        std::vector<DeviceMember> on_device;
        // What the contributions point into.
        std::vector<BufferPtr> keep;
        // The same of memory that is nobody's buffer, and of copy_to.
        std::shared_ptr<Scratch> keep_memory{};
        // Nothing is written to the members while it is held; null: never.
        std::shared_ptr<ModelHold> hold{};
        // What each node's members tell all the others besides, by node, a number for each member; own ones are filled in. All
        // have as many. Empty: nothing.
        std::vector<std::vector<uint64_t>> numbers;

        // Of a mean among nodes with at most so many members each: their parts get room, so that none that is rounded for
        // the way is infinite though the mean is not. All nodes say the same number.
        void make_room(size_t members_max);
        // Whether the result may form where that recipient wants it.
        bool may_form_at(size_t recipient) const;
    };

    using Done = std::function<void(Exchange&, const base::Result<>&)>;

    // Runs `plan`; `done` is called once, possibly before this returns. `scratch` is used, and kept, for the result.
    static std::shared_ptr<Exchange> start(Services& services, Plan plan, Scratch scratch,
                                           Done done);

    // `done` comes later, when every operation has ended.
    void abort(const base::Error& error) override;
    void peer_lost(transports::PeerId peer, const base::Error& error) override;

    // Looks for disagreement besides, once the time is noticeable.
    base::Duration stalled_for(base::TimePoint now) override;
    std::vector<NodeId> waiting_for() const override;
    uint32_t job() const override { return plan_.job; }
    bool patient() const override { return plan_.patient && !abort_; }
    std::string what() const override { return plan_.what; }

    // Asks the other nodes whether they are in it, too: an answer is something that is heard of them.
    void ask_others() { listen_for_disagreement(); }
    // Of those that it waits for, the nodes of which nothing has been heard in it: they may not know of it.
    std::vector<NodeId> unheard() const;
    // When it had heard the last of the other nodes for the first time: before, it has waited for their members.
    base::TimePoint met() const { return communicator_ ? communicator_->met() : base::TimePoint{}; }

    bool ended() const { return ended_; }
    // It failed on this node's GPU: what the members had there may be gone, so that it cannot be begun again.
    bool contents_lost() const { return contents_lost_; }
    // Of a top-k reduction that has ended well.
    size_t entries() const { return sparse_ ? sparse_->report().chosen : 0; }
    // With the result, for nodes that missed it (sparse::Report).
    std::vector<std::byte> take_hidden() {
        return sparse_ ? sparse_->take_hidden() : std::vector<std::byte>();
    }
    const Plan& plan() const { return plan_; }
    collectives::Communicator::Counters traffic() const;
    // After a success with other nodes: the result, for members that missed it.
    Scratch take_scratch() { return std::move(scratch_); }
    // The same of a result that formed on a GPU, and is in no scratch; otherwise null.
    std::unique_ptr<DeviceResult> take_device_result();
    // Whether the scratch may hold something else than it was given with.
    bool scratch_touched() const;
    // After a mismatch: the node that called something else, or that was the first to say so; 0 if it is not known.
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
    void leave_active();
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
    std::shared_ptr<DeviceFlow> flow_;     // of a sum whose members are copied while it travels
    std::shared_ptr<GpuSum> gpu_sum_;      // as long as it may, for this node
    std::shared_ptr<DeviceGradient> cut_;  // of a top-k reduction that is cut on a GPU
    std::shared_ptr<device::DeviceMemory> cut_result_;
    std::shared_ptr<Exchange> self_;  // held while under way
    bool listening_ = false;
    NodeId unlike_ = 0;             // as it has told
    std::vector<NodeId> answered_;  // whether they are in it
    size_t coming_ = 0;             // members whose contents are on their way from a GPU
    base::Result<> came_;           // of those that have come
    std::function<void(const base::Result<>&)> when_came_;
    collectives::Signal came_changed_;
    bool is_sure_ = true;               // that it counts
    bool busy_here_ = false;            // with copies that no other node knows of
    base::TimePoint busy_until_{};      // as it was seen last
    std::optional<base::Error> abort_;  // the first reason for which it was aborted
    bool contents_lost_ = false;
    bool ended_ = false;
};

// Tells the other nodes of an exchange, which may not have begun here at all, that it will not come about.
void send_poison(Services& services, uint64_t number, const std::vector<NodeId>& nodes);

// Pointers to the buffers' memory, one per segment.
std::vector<const std::byte*> segments_of(const std::vector<BufferPtr>& buffers);
std::vector<std::byte*> memory_of(const std::vector<BufferPtr>& buffers);
collectives::Layout layout_of(const std::vector<BufferPtr>& buffers);

}  // namespace pace::daemon
