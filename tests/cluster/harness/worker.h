// Worker: a session of the test's own process, with the real library and a real daemon. A call that
// fails is a GoogleTest failure, except where the function returns the status.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "capi/testing/asked_session.h"
#include "pace.h"

namespace pace::cluster {

struct WorkerOptions {
    std::string endpoint = {};
    std::string job = "test";
    uint32_t rank = 0;
    uint32_t world = 1;
    std::string policy = PACE_POLICY_ALL_REDUCE;
    uint32_t group_size = 0;   // 0 means the default
    uint32_t group_min = 0;    // 0 means the default
    std::string weights = "";  // "" means the default
    uint32_t connect_ms = 20000;
    uint32_t wait_flags = 0;
    std::function<void(AskedSession&)> tune = {};  // sets all other options
};

class Worker {
  public:
    explicit Worker(const WorkerOptions& options);
    // Leaves in order.
    ~Worker();
    // Frees the session without leaving. The session is over as if the worker had died.
    void drop();
    Worker(Worker&& other) noexcept;
    Worker& operator=(Worker&&) = delete;
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // Returns how opening ended. A worker that did not open must not be used.
    pace_status opened() const { return opened_; }
    // Returns the message of the last call that failed: "PACE_E_LIMIT message".
    std::string complaint() const {
        return std::string(pace_status_name(error_.status)) + " " + error_.message;
    }
    pace_session* session() const { return session_; }
    const std::vector<pace_buffer>& buffers() const { return buffers_; }
    const pace_request_info& info() const { return info_; }
    const std::vector<pace_member>& members() const { return members_; }

    // Adds a buffer. Every call names all buffers. Returns null on a failure, and `complaint` then
    // tells why.
    void* add_buffer(int32_t type, uint64_t count);
    float* add_floats(uint64_t count, float value);

    pace_request reduce(int32_t op = PACE_OP_SUM);
    pace_request average(uint64_t iteration);
    pace_request average_ordered(uint64_t iteration, int32_t order = PACE_ORDER_BACKWARD);
    pace_request average_kept(uint64_t iteration);
    void ready(pace_request request, uint64_t elements);
    void announce(uint64_t iteration);
    void withdraw();
    pace_request broadcast(uint32_t root);
    pace_request sync();
    pace_request barrier();
    pace_request save_residual();
    pace_request load_residual();
    pace_status cancel(pace_request request);
    int ready_fd();

    // Returns the status of the wait. `info` and `members` describe a request that has ended.
    pace_status wait(pace_request request, int64_t timeout_ms = kPatienceMs);
    // Waits for success.
    void finish(pace_request request);
    // Does the same with an average that kept the trainer's buffers. The average must have come to
    // this iteration.
    void finish_kept(pace_request request, uint64_t local_iteration);

    static constexpr int64_t kPatienceMs = 60000;

  private:
    pace_request average(uint64_t iteration, pace_average_options options);
    void expect_ok(pace_status status, const char* call);

    uint32_t world_;
    uint32_t wait_flags_;
    pace_session* session_ = nullptr;
    pace_status opened_ = PACE_E_INTERNAL;
    pace_error error_{};
    std::vector<pace_buffer> buffers_;
    pace_request_info info_ = PACE_REQUEST_INFO_INIT;
    std::vector<pace_member> members_;
};

}  // namespace pace::cluster
