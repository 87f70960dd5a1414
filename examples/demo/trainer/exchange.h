// Exchange: the demo's thin C++ layer over pace.h. It opens the session and owns the buffers. It
// turns every end of a request into a value to handle, or into an exception with Pace's message.
#pragma once

#include <pace.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "options.h"

namespace demo {

struct Buffer {
    pace_buffer handle{};
    std::span<float> values;
};

// How an exchange ended. `members` are in the order of their ranks.
struct Outcome {
    // False means that the exchange was canceled, because the worker wants to leave.
    bool done = false;
    pace_request_info info{};
    std::vector<pace_member> members;
};

class Exchange {
  public:
    // Joins the job. Throws std::runtime_error.
    explicit Exchange(const Options& options);

    // The buffer lives as long as this object.
    Buffer make_buffer(size_t count);

    // Each of these functions begins a call and waits for it. They throw std::runtime_error if Pace
    // reports an error.
    Outcome broadcast(const Buffer& buffer, uint32_t root);
    Outcome barrier();
    Outcome reduce(const Buffer& buffer, uint64_t iteration);

    // Calls `meanwhile` now and then while it waits for the others.
    Outcome sync(const std::vector<pace_buffer>& buffers, const std::function<void()>& meanwhile);

    // When `should_leave` says so, a worker that no group has taken stops waiting for a group.
    Outcome average(const Buffer& buffer, uint64_t iteration,
                    const std::function<bool()>& should_leave);

    // Leaves the job in order. Without this call, for example after an exception, the worker counts
    // as one that died.
    void leave();

  private:
    using Begin = std::function<pace_status(pace_request*, pace_error*)>;

    struct Closer {
        void operator()(pace_session* session) const { pace_session_free(session); }
    };

    Outcome run(const char* verb, const Begin& begin, const std::function<bool()>& should_leave);

    std::unique_ptr<pace_session, Closer> session_;
    uint32_t world_;
};

}  // namespace demo
