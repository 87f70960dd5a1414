// Orphanage: buffers of trainers that died, kept for a while for the trainer of the same user that takes their rank of the same job again
// on this node. Whoever comes later, under another name or in another job of that name, gets memory of its own.
//
// What is kept is still charged to its user: a Buffer holds its charge. It gives way to what live trainers need.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "daemon/exchange/buffer.h"

namespace pace::daemon {

class Orphanage {
  public:
    struct Key {
        uint32_t user = 0;
        uint64_t token = 0;  // of the job: another one of the same name has another
        uint32_t rank = 0;
        bool operator<(const Key& other) const {
            return std::tie(user, token, rank) < std::tie(other.user, other.token, other.rank);
        }
    };

    // As the daemon knows it.
    struct OfJob {
        uint32_t id = 0;
        std::string name;
    };

    explicit Orphanage(base::Duration keep_for) : keep_for_(keep_for) {}

    void keep(const Key& key, OfJob job, std::vector<BufferPtr> buffers, uint64_t iteration,
              base::TimePoint now);

    // The iteration that the dead worker had reached; 0 if nothing is kept.
    uint64_t iteration(const Key& key, base::TimePoint now) const;

    // The first kept buffer of this type, length and place (null: the host), which is then no longer kept; null if there is none. One on a
    // GPU to which something is still being copied is passed over: whoever queued that holds it.
    BufferPtr take(const Key& key, protocol::DType dtype, uint64_t count,
                   const device::Device* device, base::TimePoint now);

    // After an orderly leave nothing of the rank is kept.
    void drop(const Key& key) { estates_.erase(key); }
    // After the job's end nothing of it is.
    void drop_job(uint64_t token);
    // What is kept of whoever died first; of this user alone, if one is named. False if nothing is.
    bool drop_oldest(std::optional<uint32_t> user);
    void drop_expired(base::TimePoint now);
    // When that has something to do again.
    std::optional<base::TimePoint> next_expiry() const;
    // Of which something is kept, by token.
    std::map<uint64_t, OfJob> jobs() const;

  private:
    struct Estate {
        OfJob job;
        std::vector<BufferPtr> buffers;
        uint64_t iteration = 0;
        base::TimePoint until;
    };
    using Estates = std::map<Key, Estate>;

    Estates::const_iterator find(const Key& key, base::TimePoint now) const;
    Estates::const_iterator oldest(std::optional<uint32_t> user) const;

    base::Duration keep_for_;
    Estates estates_;
};

}  // namespace pace::daemon
