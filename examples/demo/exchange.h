// Exchange: the demo's thin C++ over pace.h. It opens the session, owns the buffers, and turns every
// way a request can end into a value to handle or an exception that says what Pace said.
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
    bool done = false;  // false: canceled, because the worker wants to leave
    pace_request_info info{};
    std::vector<pace_member> members;
};

class Exchange {
  public:
    // Joins the job. Throws std::runtime_error.
    explicit Exchange(const Options& options);

    // The buffer lives as long as this.
    Buffer make_buffer(size_t count);

    // The verbs: each begins and waits. Throw std::runtime_error when Pace reports a fault.
    Outcome broadcast(const Buffer& buffer, uint32_t root);
    Outcome barrier();
    Outcome reduce(const Buffer& buffer, uint64_t iteration);

    // Calls `meanwhile` now and then as long as the others are waited for.
    Outcome sync(const std::vector<pace_buffer>& buffers, const std::function<void()>& meanwhile);

    // As soon as `should_leave` says so, a worker that no group has taken stops waiting for one.
    Outcome average(const Buffer& buffer, uint64_t iteration,
                    const std::function<bool()>& should_leave);

    // Leaves the job in order. Without it, as when something is thrown, the worker counts as one that died.
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
