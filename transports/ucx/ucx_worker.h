// UcxWorker: a configured UCX context and worker, with its descriptor. The class follows RAII and
// knows no messages.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "transports/ucx/ucx_options.h"

namespace pace::transports {

// Makes an Error from a UCX status. The message is "WHAT: the status in words".
base::Error make_ucx_error(base::ErrorKind kind, std::string_view what, ucs_status_t status);

class UcxWorker {
  public:
    static base::Result<std::unique_ptr<UcxWorker>> create(const UcxOptions& options);
    ~UcxWorker();
    UcxWorker(const UcxWorker&) = delete;
    UcxWorker& operator=(const UcxWorker&) = delete;

    ucp_worker_h handle() const { return worker_; }
    int event_fd() const { return event_fd_; }
    const std::vector<std::byte>& address() const { return address_; }

    // Frees what UCX still holds. All endpoints must have been closed.
    void destroy();

  private:
    UcxWorker() = default;
    base::Result<> open(const UcxOptions& options);
    base::Result<> read_address();

    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    int event_fd_ = -1;
    std::vector<std::byte> address_;
};

}  // namespace pace::transports
