// Quota: limits and use of one trainer's buffers, so that a faulty trainer leaves room for the same
// user's others. The user's own account is in exchange/accounts.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace pace::daemon {

struct QuotaLimits {
    uint64_t bytes_max = uint64_t{8} << 30U;  // of one client's buffers
    uint32_t buffers_max = 1024;
};

class Quota {
  public:
    explicit Quota(QuotaLimits limits) : limits_(limits) {}

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
        ++buffers_;
        bytes_ += bytes;
        return {};
    }

    // Whether a buffer of so many bytes could be charged.
    bool has_room(uint64_t bytes) const {
        return buffers_ < limits_.buffers_max && bytes <= limits_.bytes_max &&
               bytes_ <= limits_.bytes_max - bytes;
    }

    void release_buffer(uint64_t bytes) {
        --buffers_;
        bytes_ -= bytes;
    }

    uint64_t bytes() const { return bytes_; }
    uint32_t buffers() const { return buffers_; }

  private:
    QuotaLimits limits_;
    uint64_t bytes_ = 0;
    uint32_t buffers_ = 0;
};

}  // namespace pace::daemon
