// Orphanage: buffers of trainers that died, kept for a while for the trainer that takes their rank again on this node.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "daemon/exchange/buffer.h"

namespace pace::daemon {

class Orphanage {
  public:
    struct Estate {
        std::vector<BufferPtr> buffers;
        uint64_t iteration = 0;
        base::TimePoint until;
    };
    using Key = std::pair<std::string, uint32_t>;  // job, rank

    void keep(const Key& key, std::vector<BufferPtr> buffers, uint64_t iteration) {
        drop_expired();
        if (buffers.empty()) return;
        estates_[key] = {std::move(buffers), iteration, base::now() + std::chrono::minutes(10)};
    }

    // The iteration that the dead worker had reached; 0 if nothing is kept.
    uint64_t iteration(const Key& key) const {
        const auto estate = estates_.find(key);
        return estate == estates_.end() ? 0 : estate->second.iteration;
    }

    // The first kept buffer of this type, length and place (null: the host), which is then no longer kept; null if there is none. One on a
    // GPU to which something is still being copied is passed over: whoever queued that holds it.
    BufferPtr take(const Key& key, protocol::DType dtype, uint64_t count,
                   const device::Device* device) {
        const auto estate = estates_.find(key);
        if (estate == estates_.end()) return nullptr;
        auto& buffers = estate->second.buffers;
        const auto buffer =
            std::find_if(buffers.begin(), buffers.end(), [&](const BufferPtr& other) {
                const bool idle = device == nullptr || other.use_count() == 1;
                return other->dtype == dtype && other->count == count &&
                       other->device() == device && idle;
            });
        if (buffer == buffers.end()) return nullptr;
        BufferPtr taken = *buffer;
        buffers.erase(buffer);
        if (buffers.empty()) estates_.erase(estate);
        return taken;
    }

    // After an orderly leave nothing of the rank is kept.
    void drop(const Key& key) { estates_.erase(key); }

    void drop_expired() {
        const base::TimePoint now = base::now();
        std::erase_if(estates_, [now](const auto& entry) { return entry.second.until < now; });
    }

  private:
    std::map<Key, Estate> estates_;
};

}  // namespace pace::daemon
