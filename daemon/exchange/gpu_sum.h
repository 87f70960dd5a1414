// GpuSum: a dense sum whose members' buffers, of all nodes, are on GPUs: summed on each GPU by a kernel, among the GPUs by NCCL, and
// never on a host.
//
//     members' buffers --kernel--> scratch on their GPU --NCCL, in place--> --kernel--> members' buffers, and scratch: the result
//
// As among hosts, buffers are not written before the whole sum has arrived. The bytes are alike everywhere, and halves are summed
// in f32; the order of the sum is NCCL's, so that they may differ in the last bits from those of another way.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/communicator.h"
#include "daemon/collectives/layout.h"
#include "daemon/collectives/signal.h"
#include "daemon/exchange/device_sum.h"
#include "daemon/exchange/gpu_groups.h"
#include "daemon/exchange/services.h"

namespace pace::daemon {

// A sum on a GPU, for nodes that missed it.
class DeviceResult {
  public:
    DeviceResult(std::shared_ptr<DeviceLane> lane, std::shared_ptr<device::DeviceMemory> memory,
                 collectives::Layout layout)
        : lane_(std::move(lane)), memory_(std::move(memory)), layout_(std::move(layout)) {}
    DeviceResult(const DeviceResult&) = delete;
    DeviceResult& operator=(const DeviceResult&) = delete;
    // Its memory is used again after what is queued.
    ~DeviceResult();

    device::Device& device() const { return lane_->device(); }
    // Copies layout.bytes() bytes, as all_reduce leaves them, to the host, and calls back from the loop; `to` stays until then.
    void bring(std::span<std::byte> to, std::function<void(const base::Result<>&)> landed) const;

  private:
    std::shared_ptr<DeviceLane> lane_;
    std::shared_ptr<device::DeviceMemory> memory_;
    collectives::Layout layout_;
};

class GpuSum : public std::enable_shared_from_this<GpuSum> {
  public:
    GpuSum(const GpuSum&) = delete;
    GpuSum& operator=(const GpuSum&) = delete;
    // Scratch and members' buffers stay until what is queued has ended.
    ~GpuSum();

    // Null: it goes by way of the host. `members`: all that take part here.
    static std::shared_ptr<GpuSum> prepare(Services& services, std::vector<DeviceMember> members,
                                           const collectives::Layout& layout);

    // What is told of nodes that cannot.
    static GpuCard unable() { return {}; }
    // Of a sum among these nodes: our card, and what all cards together mean. True: it goes over NCCL.
    // Memory is taken if there is a communicator that it may go over.
    GpuCard card(const std::vector<NodeId>& nodes, size_t self);
    bool meet(const std::vector<GpuCard>& cards);

    // The sum, scaled, forms in the scratch. Members' buffers are as they were when it fails.
    base::Task<base::Result<>> run(double scale);
    void abort(const base::Error& error);
    // Queues the result into all members.
    base::Result<> commit();
    std::unique_ptr<DeviceResult> take_result();

    // Other sums may use the GPUs from now on.
    void release() { turn_.reset(); }
    // Since when NCCL works on it; zero: it does not.
    base::TimePoint running_since() const { return running_since_; }

  private:
    // One GPU and what its members have there.
    struct Share {
        std::vector<DeviceMember> members;
        std::shared_ptr<device::DeviceMemory> scratch;
        const pace_device_plugin_table* kernels = nullptr;

        const DeviceLane& lane() const { return *members.front().contents->lane; }
    };

    GpuSum(Services& services, collectives::Layout layout)
        : services_(services), layout_(std::move(layout)) {}

    Share& share_of(const DeviceMember& member);
    base::Result<> take_scratch();
    base::Result<> queue_partials(const Share& share) const;
    base::Result<> queue_scaled(const Share& share, double scale) const;
    base::Result<> queue_all_partials();
    base::Result<> queue_all_scaled(double scale);
    base::Result<> failed(const base::Result<>& result);
    base::Task<base::Result<>> sum_among_gpus();
    std::vector<device::GpuCommunicator::Share> shares_for_nccl() const;
    std::byte* at(const Share& share, size_t offset) const;
    std::byte* wide_at(const Share& share, size_t segment) const;

    Services& services_;
    collectives::Layout layout_;
    std::vector<size_t> wide_;  // per segment of halves: where it lies in f32 in the scratch
    std::vector<Share> shares_;
    GpuGroups::Place place_;
    std::unique_ptr<GpuGroups::Turn> turn_;
    std::shared_ptr<device::GpuCommunicator> communicator_;
    base::TimePoint running_since_{};
    std::optional<base::Error> abort_;
    bool queued_ = false;  // something that reads or writes the scratch is
    collectives::Signal changed_;
};

// The slot of the cards; of phase 0, which no collective uses (collectives/slots.h), beside those of exchange.h.
inline constexpr uint32_t kCardSlot = 0x0FFFFFFDU;

// All nodes' cards, in node order.
base::Task<base::Result<std::vector<GpuCard>>> exchange_cards(
    collectives::Communicator& communicator, const GpuCard& mine);

}  // namespace pace::daemon
