// GpuSum: a dense sum whose members' buffers, on all nodes, are on GPUs. Each GPU's members are
// summed by a kernel, the GPUs' sums by NCCL, and nothing on a host.
//
//     members' buffers --kernel--> scratch on their GPU --NCCL, in place-->
//         --kernel--> members' buffers, and scratch: the result
//
// As among hosts, buffers are not written before the whole sum has arrived. All nodes get the same
// bytes, and halves are summed in f32. The order of the sum is NCCL's, so the result may differ in
// the last bits from that of another way.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/layout/layout.h"
#include "daemon/collectives/layout/signal.h"
#include "daemon/collectives/messages/communicator.h"
#include "daemon/gpu/device_sum.h"
#include "daemon/gpu/gpu_groups.h"
#include "daemon/runtime/services.h"

namespace pace::daemon {

// DeviceResult: a sum on a GPU, kept for nodes that missed it.
class DeviceResult {
  public:
    DeviceResult(std::shared_ptr<DeviceLane> lane, std::shared_ptr<device::DeviceMemory> memory,
                 collectives::Layout layout)
        : lane_(std::move(lane)), memory_(std::move(memory)), layout_(std::move(layout)) {}
    DeviceResult(const DeviceResult&) = delete;
    DeviceResult& operator=(const DeviceResult&) = delete;
    // The memory is reused after the work that is queued.
    ~DeviceResult();

    device::Device& device() const { return lane_->device(); }
    // Copies layout.bytes() bytes to the host, as all_reduce leaves them, and calls back from the
    // loop. `to` must stay until then.
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
    // The scratch and the members' buffers are kept until queued work has ended.
    ~GpuSum();

    // Null: the sum goes by way of the hosts. `members`: all that take part on this node.
    static std::shared_ptr<GpuSum> prepare(Services& services, std::vector<DeviceMember> members,
                                           const collectives::Layout& layout);

    // The card of a node that cannot take part.
    static GpuCard unable() { return {}; }
    // Sets the nodes of the sum, and which of them is this one.
    void place(const std::vector<NodeId>& nodes, size_t self);
    const GpuGroups::Place& place() const { return place_; }
    // The card of this node. If it names a communicator, each GPU gets scratch.
    GpuCard card() { return services_.gpu_groups.card_for(place_); }
    // Scratch for the GPUs of place(), in their order: of so many bytes each.
    size_t scratch_bytes() const { return scratch_bytes_; }
    void take_scratch(std::vector<std::shared_ptr<device::DeviceMemory>> scratch);
    // What all nodes' cards together mean. True: the sum goes over NCCL.
    bool meet(const std::vector<GpuCard>& cards);

    // The scaled sum forms in the scratch. If it fails, members' buffers are as they were.
    base::Task<base::Result<>> run(double scale);
    void abort(const base::Error& error);
    // Queues the result into all members.
    base::Result<> commit();
    std::unique_ptr<DeviceResult> take_result();

    // Lets other sums use the GPUs.
    void release() { turn_.reset(); }
    // Since when NCCL works on the sum; zero: it does not.
    base::TimePoint running_since() const { return running_since_; }

  private:
    // One GPU and the contents of its members.
    struct Share {
        std::vector<DeviceMember> members;
        std::shared_ptr<device::DeviceMemory> scratch;
        const pace_device_plugin_table* kernels = nullptr;

        const DeviceLane& lane() const { return *members.front().contents->lane; }
    };

    GpuSum(Services& services, collectives::Layout layout);

    Share& share_of(const DeviceMember& member);
    base::Result<> queue_partials(const Share& share) const;
    base::Result<> queue_scaled(const Share& share, double scale) const;
    base::Result<> queue_all_partials();
    base::Result<> queue_all_scaled(double scale);
    base::Result<> failed(const base::Result<>& result);
    base::Task<base::Result<>> sum_among_gpus();
    std::vector<device::GpuCommunicator::Share> shares_for_nccl() const;
    std::byte* at(const Share& share, size_t offset) const;
    std::byte* wide_at(const Share& share, size_t segment) const;
    std::byte* sums_at(const Share& share, size_t segment) const;
    protocol::DType sum_dtype(size_t segment) const;

    Services& services_;
    collectives::Layout layout_;
    std::vector<size_t> wide_;  // per segment of halves: where it lies in f32 in the scratch
    size_t scratch_bytes_ = 0;
    std::vector<Share> shares_;
    GpuGroups::Place place_;
    std::unique_ptr<GpuGroups::Turn> turn_;
    std::shared_ptr<device::GpuCommunicator> communicator_;
    base::TimePoint running_since_{};
    std::optional<base::Error> abort_;
    bool queued_ = false;  // work that reads or writes the scratch is queued
    collectives::Signal changed_;
};

// The slot of the cards, beside those of exchange.h. It is in phase 0, which no collective uses
// (collectives/slots.h).
inline constexpr uint32_t kCardSlot = 0x0FFFFFFDU;

// All nodes' cards, in node order.
base::Task<base::Result<std::vector<GpuCard>>> exchange_cards(
    collectives::Communicator& communicator, const GpuCard& mine);

}  // namespace pace::daemon
