// pace_worker.cpp: one worker that exchanges its buffer through a daemon, by pace.h alone. job.h
// lists the words of --algorithm.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>

#include "bench/common/check.h"
#include "bench/common/measure.h"
#include "bench/pace/job.h"
#include "capi/testing/calls.h"
#include "pace.h"

namespace {

namespace bench = pace::bench;

[[noreturn]] void fail(const bench::Options& options, const char* call, const pace_error& error) {
    std::fprintf(stderr, "rank %u: %s: %s: %s\n", options.rank, call,
                 pace_status_name(error.status), error.message);
    std::exit(1);
}

// A session of this worker in the job, one buffer, and the exchange on it.
class Worker {
  public:
    Worker(const bench::Options& options, const pace::AskedSession& job)
        : options_(options), averaging_(job.policy == PACE_POLICY_PARTIAL_REDUCE) {
        check("pace_session_open", job.open(&session_, &error_));
        void* data = nullptr;
        const size_t count = options.bytes / sizeof(float);
        check("pace_buffer_create",
              pace_buffer_create(session_, PACE_F32, count, nullptr, &buffer_, &data, &error_));
        data_ = std::span(static_cast<float*>(data), count);
        pace_request request{};
        check("pace_broadcast",
              pace_broadcast(session_, pace::Slices(&buffer_, 1), 1, nullptr, &request, &error_));
        wait("pace_broadcast", request);
    }
    ~Worker() {
        pace_session_leave(session_, 1000, nullptr);
        pace_session_free(session_);
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    std::span<float> data() const { return data_; }

    void exchange() {
        pace_request request{};
        if (averaging_) {
            check("pace_average", pace_average(session_, pace::Slices(&buffer_, 1), 1,
                                               pace::average_at(iteration_), &request, &error_));
            iteration_ = wait("pace_average", request) + 1;
            return;
        }
        pace_reduce_options sum = PACE_REDUCE_OPTIONS_INIT;
        sum.op = PACE_OP_SUM;
        sum.call.iteration = iteration_++;
        check("pace_reduce",
              pace_reduce(session_, pace::Slices(&buffer_, 1), 1, &sum, &request, &error_));
        wait("pace_reduce", request);
    }

    // Returns whether this worker was in time in the last exchange.
    bool in_time() const { return info_.late == 0; }
    uint64_t received() const { return info_.bytes_received; }

    // Returns the value that one element must have after the first exchange.
    float expected() const {
        const float sum = bench::expected_sum(options_);
        return averaging_ ? sum / static_cast<float>(options_.world) : sum;
    }

  private:
    void check(const char* call, pace_status status) {
        if (status != PACE_OK) fail(options_, call, error_);
    }

    uint64_t wait(const char* call, pace_request request) {
        info_ = PACE_REQUEST_INFO_INIT;
        check(call, pace_request_wait(session_, request, PACE_FOREVER, nullptr, &info_, &error_));
        return info_.iteration;
    }

    const bench::Options& options_;
    bool averaging_;
    pace_session* session_ = nullptr;
    pace_buffer buffer_{};
    std::span<float> data_;
    uint64_t iteration_ = 0;
    pace_request_info info_ = PACE_REQUEST_INFO_INIT;
    pace_error error_{};
};

std::string library_version() {
    const uint32_t version = pace_library_version();
    return "Pace " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
           "." + std::to_string(version % 100);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv);
    bench::Scoreboard board(options.board, options.world, options.rank);
    const std::optional<pace::AskedSession> job = bench::job_of(options);
    if (!job) {
        std::fprintf(stderr, "there is no --algorithm %s\n", options.algorithm.c_str());
        return 2;
    }
    Worker worker(options, *job);
    bench::Subject subject;
    subject.buffer = worker.data();
    subject.expected = worker.expected();
    subject.exchange = [&worker] { worker.exchange(); };
    // The daemon moves the bytes. Where all workers call together, the daemon does not wait longer
    // for a worker that spins than for one that sleeps. Otherwise spinning workers would take the
    // daemon's processors.
    if (options.skew_ms == 0) subject.progress = [] {};
    if (bench::is_partial(*job)) subject.in_time = [&worker] { return worker.in_time(); };
    if (bench::is_sparse(*job)) subject.received = [&worker] { return worker.received(); };
    subject.version = library_version();
    bench::measure(options, board, subject);
    return 0;
}
