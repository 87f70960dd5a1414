// Quota: what one client may use, and what it does use. Everything that costs memory or a descriptor is charged before it is made.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace pace::daemon {

struct QuotaLimits {
    uint64_t bytes_max = uint64_t{8} << 30U;  // of one client's buffers
    uint32_t buffers_max = 1024;
};

// What all clients together use, under the daemon's own limit.
struct MemoryBudget {
    uint64_t bytes_max = 0;  // 0: no limit
    uint64_t bytes_used = 0;
};

class Quota {
  public:
    Quota(QuotaLimits limits, MemoryBudget& shared) : limits_(limits), shared_(shared) {}
    Quota(const Quota&) = delete;
    Quota& operator=(const Quota&) = delete;
    ~Quota() { shared_.bytes_used -= bytes_; }

    base::Result<> charge_buffer(uint64_t bytes) {
        using base::ErrorKind;
        if (buffers_ >= limits_.buffers_max)
            return base::make_error(
                ErrorKind::limit,
                "this client has {} buffers, its limit (client_buffers_max); free some", buffers_);
        if (bytes > limits_.bytes_max || bytes_ > limits_.bytes_max - bytes)
            return base::make_error(ErrorKind::limit,
                                    "{} bytes more would pass this client's limit of {} bytes "
                                    "(client_bytes_max; {} in use)",
                                    bytes, limits_.bytes_max, bytes_);
        if (shared_.bytes_max != 0 &&
            (bytes > shared_.bytes_max || shared_.bytes_used > shared_.bytes_max - bytes))
            return base::make_error(ErrorKind::limit,
                                    "{} bytes more would pass the daemon's limit of {} bytes for "
                                    "all clients (memory_max; {} in use)",
                                    bytes, shared_.bytes_max, shared_.bytes_used);
        ++buffers_;
        bytes_ += bytes;
        shared_.bytes_used += bytes;
        return {};
    }

    void release_buffer(uint64_t bytes) {
        --buffers_;
        bytes_ -= bytes;
        shared_.bytes_used -= bytes;
    }

    uint64_t bytes() const { return bytes_; }
    uint32_t buffers() const { return buffers_; }

  private:
    QuotaLimits limits_;
    MemoryBudget& shared_;
    uint64_t bytes_ = 0;
    uint32_t buffers_ = 0;
};

}  // namespace pace::daemon
