// ExchangePlan: what an exchange does, with which buffers, for which workers of this node, and
// among which nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/collectives/layout/layout.h"
#include "daemon/collectives/layout/progress.h"
#include "daemon/exchange/run/sparse_run.h"
#include "daemon/gpu/device_sum.h"
#include "daemon/members/model_hold.h"
#include "daemon/members/request.h"
#include "daemon/runtime/scratch.h"

namespace pace::daemon {

struct ExchangePlan {
    enum class Kind : uint8_t { reduce, broadcast, barrier, fetch };

    struct Contribution {
        std::vector<const std::byte*> segments;
        double weight = 1.0;
    };

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

    // Whether this node alone has all that is needed.
    bool is_local() const { return nodes.size() <= 1 && !top_k; }
    // Whether all buffers have their contents.
    bool is_made() const { return !progress || progress->is_complete(); }
    // A sum that all_reduce makes as it is.
    bool is_plain_sum() const { return kind == Kind::reduce && !top_k && !half && !progress; }
    // Whether the buffers of all members, of input and result, are on GPUs.
    bool is_all_on_gpus() const {
        return on_device.size() == contributions.size() && on_device.size() == recipients.size();
    }
    // How many bytes are read and written here if the host makes the result alone.
    size_t bytes_touched() const;
};

// Pointers to the buffers' memory, one per segment.
std::vector<const std::byte*> segments_of(const std::vector<BufferPtr>& buffers);
std::vector<std::byte*> memory_of(const std::vector<BufferPtr>& buffers);
collectives::Layout layout_of(const std::vector<BufferPtr>& buffers);

}  // namespace pace::daemon
