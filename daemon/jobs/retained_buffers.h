// RetainedBuffers: retained buffers of trainers that died. They are kept for a while for a trainer
// of the same user that takes the same rank of the same job on this node. A trainer of another
// user, or of another job of that name, gets memory of its own.
//
// Retained buffers stay charged to their user, since a Buffer holds its charge. They are released
// when live trainers need the memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "daemon/runtime/buffer.h"

namespace pace::daemon {

class RetainedBuffers {
  public:
    struct Key {
        uint32_t user = 0;
        uint64_t token = 0;  // of the job: another job of the same name has another token
        uint32_t rank = 0;
        bool operator<(const Key& other) const {
            return std::tie(user, token, rank) < std::tie(other.user, other.token, other.rank);
        }
    };

    // The job as the daemon knows it.
    struct OfJob {
        uint32_t id = 0;
        std::string name;
    };

    explicit RetainedBuffers(base::Duration keep_for) : keep_for_(keep_for) {}

    void keep(const Key& key, OfJob job, std::vector<BufferPtr> buffers, uint64_t iteration,
              base::TimePoint now);

    // The iteration that the dead worker had reached; 0 if nothing is retained.
    uint64_t iteration(const Key& key, base::TimePoint now) const;

    // Says of a buffer whether the successor can have it.
    using Fits = std::function<bool(const Buffer&)>;
    static bool fits_all(const Buffer&) { return true; }

    // The first retained buffer of this type, length and place (null: the host) that fits, which is
    // then no longer retained; null if there is none. A buffer on a GPU to which something is still
    // being copied is passed over, as the copy holds it.
    BufferPtr take(const Key& key, protocol::DType dtype, uint64_t count,
                   const device::Device* device, base::TimePoint now, const Fits& fits = fits_all);

    // Called after an orderly leave: nothing of the rank is retained.
    void drop(const Key& key) { entries_.erase(key); }
    // Called at the job's end: nothing of the job is retained.
    void drop_job(uint64_t token);
    // Releases the buffers of the trainer that died first; of this user only, if one is named.
    // False if there are none.
    bool drop_oldest(std::optional<uint32_t> user);
    // Releases buffers whose time is over.
    void drop_expired(base::TimePoint now);
    // When drop_expired() has something to do again.
    std::optional<base::TimePoint> next_expiry() const;
    // Jobs of which buffers are retained, by token.
    std::map<uint64_t, OfJob> jobs() const;

  private:
    struct Entry {
        OfJob job;
        std::vector<BufferPtr> buffers;
        uint64_t iteration = 0;
        base::TimePoint until;
    };
    using Entries = std::map<Key, Entry>;

    Entries::const_iterator find(const Key& key, base::TimePoint now) const;
    Entries::const_iterator oldest(std::optional<uint32_t> user) const;

    base::Duration keep_for_;
    Entries entries_;
};

}  // namespace pace::daemon
