// GpuGroups: NCCL communicators among this node's GPUs and those of other nodes, for sums that go
// from GPU to GPU.
//
// Communicators are kept by their members: the nodes in their order, and each node's GPUs. At most
// `communicators_max` are kept; the least recently used one goes first. All nodes decide by the
// same cards (gpu_card.h), so none waits for a node that does not come. Only one such sum is under
// way on a GPU at a time; a sum that comes meanwhile goes by way of the hosts. Otherwise two
// communicators whose sums were begun in different orders on different GPUs would wait for each
// other for ever.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/loop/event_loop.h"
#include "daemon/device/device_memory.h"
#include "daemon/device/nccl/gpu_communicator.h"
#include "daemon/gpu/gpu_card.h"
#include "daemon/runtime/peers.h"

namespace pace::daemon {

class GpuGroups {
  public:
    // The place of a sum: the nodes, in their order, which of them is this one, and its GPUs.
    struct Place {
        std::vector<NodeId> nodes;
        size_t self = 0;
        std::vector<device::Device*> gpus;
        // The communicators that this node's card names, kept so that nobody else drops them
        // meanwhile.
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

    // Null if a sum is under way on one of the GPUs.
    std::unique_ptr<Turn> take_turn(const std::vector<device::Device*>& gpus);

    // Whether card_for() could name a communicator to be made, and has no id for it. A caller then
    // makes an id where that blocks nobody, and keeps it here.
    bool wants_id(const Place& place);
    void keep_id(const Place& place, const base::Result<device::GroupId>& id);
    // The card of this node.
    GpuCard card_for(Place& place);
    // The communicator that the sum uses; null: it goes by way of the hosts. Begins to make a
    // communicator if one is due.
    std::shared_ptr<device::GpuCommunicator> meet(const Place& place,
                                                  const std::vector<GpuCard>& cards);
    // The place's sums go by way of the hosts for a while.
    void refuse(const Place& place, const base::Error& why);
    // Drops a communicator over which a sum has failed.
    void drop(const std::shared_ptr<device::GpuCommunicator>& communicator);
    // The node is gone, and all communicators with it are useless.
    void forget(NodeId node);

    // Memory for a sum that nobody else holds any more; null if there is none.
    std::shared_ptr<device::DeviceMemory> spare_scratch(const device::Device& gpu, size_t bytes);
    // Keeps memory that a caller has made where that blocks nobody, for it and for later ones.
    std::shared_ptr<device::DeviceMemory> keep_scratch(device::DeviceMemory made);

    // No job is left: keeps nothing on the GPUs.
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
    bool may_be_able(const Place& place);
    bool sends_fresh(const Place& place) const;
    void made(const Key& key, uint64_t serial, const base::Result<>& result);
    bool is_refused(const Key& key);
    void refuse(const Key& key, const base::Error& why);

    base::EventLoop& loop_;
    size_t communicators_max_;
    // An id that NCCL has given and no card has told. Each id has a thread and a port of its own
    // until it is used.
    std::optional<device::GroupId> unused_id_;
    std::vector<Entry> entries_;
    std::vector<device::Device*> busy_;
    std::map<Key, base::TimePoint> refused_until_;  // after a failure
    std::vector<Key> want_fresh_;  // first node: others do not know a communicator that it knows
    std::vector<std::shared_ptr<device::DeviceMemory>> scratch_;
    // For callbacks that come after this object is gone.
    base::Scope scope_;
};

}  // namespace pace::daemon
