// GpuGroups: NCCL communicators of this node's GPUs and those of other nodes, for sums that go from GPU to GPU.
//
// They are kept by their members: the nodes in their order, and each one's GPUs. At most so many as told; the one that has not been
// used for longest goes first. All nodes decide by the same cards (gpu_card.h), so that none waits for another one that does not come.
// On a GPU one such sum is under way at a time, and whoever comes meanwhile goes by way of the hosts: two communicators whose sums were
// begun in different orders on different GPUs would wait for each other for ever.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/event_loop.h"
#include "daemon/device/device_memory.h"
#include "daemon/device/gpu_communicator.h"
#include "daemon/exchange/gpu_card.h"
#include "daemon/exchange/peers.h"

namespace pace::daemon {

class GpuGroups {
  public:
    // Of a sum: the nodes, in their order, which of them is this one, and its GPUs.
    struct Place {
        std::vector<NodeId> nodes;
        size_t self = 0;
        std::vector<device::Device*> gpus;
        // That the card names: nobody else takes them away meanwhile.
        std::vector<std::pair<uint64_t, std::shared_ptr<device::GpuCommunicator>>> named = {};
    };

    // Holds a place's GPUs for one sum.
    class Turn {
      public:
        Turn(GpuGroups& groups, std::vector<device::Device*> gpus)
            : groups_(groups), gpus_(std::move(gpus)) {}
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        ~Turn();

      private:
        GpuGroups& groups_;
        std::vector<device::Device*> gpus_;
    };

    GpuGroups(base::EventLoop& loop, size_t communicators_max)
        : loop_(loop), communicators_max_(communicators_max) {}

    // Null: a sum is under way on one of them.
    std::unique_ptr<Turn> take_turn(const std::vector<device::Device*>& gpus);

    // What this node tells of itself.
    GpuCard card_for(Place& place);
    // Over which communicator the sum goes; null: by way of the hosts. Begins to make one if that is due.
    std::shared_ptr<device::GpuCommunicator> meet(const Place& place,
                                                  const std::vector<GpuCard>& cards);
    // Its sums go by way of the hosts for a while.
    void refuse(const Place& place, const base::Error& why);
    // A sum over it has failed.
    void drop(const std::shared_ptr<device::GpuCommunicator>& communicator);
    // The node is gone, and all communicators with it are of no more use.
    void forget(NodeId node);

    // Memory for a sum, reused once nobody else holds it.
    base::Result<std::shared_ptr<device::DeviceMemory>> scratch(device::Device& gpu, size_t bytes);
    // Of what there is; null: none. And what a caller has made where that holds up nobody.
    std::shared_ptr<device::DeviceMemory> spare_scratch(const device::Device& gpu, size_t bytes);
    std::shared_ptr<device::DeviceMemory> keep_scratch(device::DeviceMemory made);

    // No job is left: nothing is kept on the GPUs.
    void rest();

  private:
    struct Entry {
        std::vector<NodeId> nodes;
        std::vector<device::Device*> gpus;
        std::vector<GpuCard> cards;
        uint64_t serial = 0;
        base::TimePoint used{};
        std::shared_ptr<device::GpuCommunicator> communicator;
    };
    using Key = std::pair<std::vector<NodeId>, std::vector<device::Device*>>;

    std::vector<const Entry*> latest_of(const Place& place) const;
    void make(const Place& place, const std::vector<GpuCard>& cards);
    bool has_room() const;
    void make_room(const std::vector<GpuCard>& cards);
    std::optional<device::GroupId> take_id(const Place& place);
    void made(const Key& key, uint64_t serial, const base::Result<>& result);
    bool is_refused(const Key& key);
    void refuse(const Key& key, const base::Error& why);

    base::EventLoop& loop_;
    size_t communicators_max_;
    // Of those that NCCL has given, one that no card has told: each has a thread and a port of its own until it is used.
    std::optional<device::GroupId> unused_id_;
    std::vector<Entry> entries_;
    std::vector<device::Device*> busy_;
    std::map<Key, base::TimePoint> refused_until_;  // after a failure
    std::vector<Key> want_fresh_;  // of the first node: others do not know what it knows
    std::vector<std::shared_ptr<device::DeviceMemory>> scratch_;
    // For callbacks that come when this is gone.
    base::Scope scope_;
};

}  // namespace pace::daemon
