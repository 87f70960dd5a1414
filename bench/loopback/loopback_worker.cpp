// loopback_worker: one worker that computes (sleeps) for a given time and then averages, or
// reduces, until its time is over. For each update it prints the group, how long its call waited
// for the exchange to begin, and how long the update took. It also prints when the update began and
// ended computing, and when its exchange began and ended. All times are in microseconds. The last
// four are on the monotonic clock.
//
// MODE says how the worker averages. "called": when it has computed. "announced": at the beginning
// of the step. "ordered": from a third of the step on (the forward pass), while the buffer becomes
// ready from its end (the backward pass). "kept": when it has computed, it averages a copy. The
// average is added when the next step is computed.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>

#include <time.h>

#include "capi/testing/asked_session.h"
#include "capi/testing/calls.h"
#include "pace.h"

namespace {

struct Options {
    std::string endpoint;
    uint32_t rank = 0;
    uint32_t world = 0;
    std::string policy;
    uint32_t group_size = 0;
    std::string mode;
    uint64_t run_us = 0;
    uint64_t step_us = 0;
    uint64_t elements = 0;
};

uint64_t now_us() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000 +
           static_cast<uint64_t>(time.tv_nsec) / 1000;
}

void compute(uint64_t duration_us) {
    const timespec time{static_cast<time_t>(duration_us / 1'000'000),
                        static_cast<long>(duration_us % 1'000'000 * 1000)};
    nanosleep(&time, nullptr);
}

class Worker {
  public:
    explicit Worker(const Options& options) : options_(options) {
        pace::AskedSession job;
        job.endpoint = options.endpoint;
        job.job = "loopback";
        job.rank = options.rank;
        job.world = options.world;
        job.policy = options.policy;
        if (options.group_size != 0) job.set(PACE_OPT_GROUP_SIZE, options.group_size);
        check(job.open(&session_, &error_));
        void* data = nullptr;
        check(pace_buffer_create(session_, PACE_F32, options.elements, nullptr, &buffer_, &data,
                                 &error_));
        reduces_ = job.policy == PACE_POLICY_ALL_REDUCE;
        pace_request request{};
        check(pace_barrier(session_, nullptr, &request, &error_));
        check(pace_request_wait(session_, request, PACE_FOREVER, nullptr, nullptr, &error_));
    }
    ~Worker() {
        pace_session_leave(session_, 1000, nullptr);
        pace_session_free(session_);
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void run() {
        const uint64_t end = now_us() + options_.run_us;
        last_end_ = now_us();
        for (uint64_t iteration = 1; now_us() < end; ++iteration) update(iteration);
        collect(kept_, 0);
    }

  private:
    struct Update {
        pace_request request{};
        uint64_t began = 0;
        uint64_t computed = 0;
        uint64_t called = 0;
    };

    void update(uint64_t iteration) {
        Update update;
        update.began = now_us();
        if (options_.mode == "announced") check(pace_announce(session_, iteration, &error_));
        if (options_.mode == "ordered") {
            compute_backward(iteration, update);
        } else {
            compute(options_.step_us);
        }
        update.computed = now_us();
        if (options_.mode == "kept") {
            collect(kept_, iteration);
            call_kept(iteration, update);
            kept_ = update;
            return;
        }
        if (options_.mode != "ordered") call(iteration, update);
        collect(update, 0);
    }

    void call(uint64_t iteration, Update& update) {
        update.called = now_us();
        if (reduces_) {
            check(pace_reduce(session_, pace::Slices(&buffer_, 1), 1, nullptr, &update.request,
                              &error_));
        } else {
            check(pace_average(session_, pace::Slices(&buffer_, 1), 1, pace::average_at(iteration),
                               &update.request, &error_));
        }
    }

    void call_kept(uint64_t iteration, Update& update) {
        pace_average_options how = PACE_AVERAGE_OPTIONS_INIT;
        how.call.iteration = iteration;
        how.keep_local = 1;
        update.called = now_us();
        check(pace_average(session_, pace::Slices(&buffer_, 1), 1, &how, &update.request, &error_));
    }

    void compute_backward(uint64_t iteration, Update& update) {
        constexpr uint64_t kLayers = 16;
        pace_average_options how = PACE_AVERAGE_OPTIONS_INIT;
        how.call.iteration = iteration;
        how.order = PACE_ORDER_BACKWARD;
        compute(options_.step_us / 3);
        update.called = now_us();
        check(pace_average(session_, pace::Slices(&buffer_, 1), 1, &how, &update.request, &error_));
        for (uint64_t layer = 1; layer <= kLayers; ++layer) {
            compute((options_.step_us - options_.step_us / 3) / kLayers);
            check(pace_request_ready(session_, update.request, options_.elements * layer / kLayers,
                                     &error_));
        }
    }

    void collect(const Update& update, uint64_t local_iteration) {
        if (update.request.id == 0) return;
        pace_request_info info = PACE_REQUEST_INFO_INIT;
        pace_wait_options how = PACE_WAIT_OPTIONS_INIT;
        how.local_iteration = local_iteration;
        check(pace_request_wait(session_, update.request, PACE_FOREVER, &how, &info, &error_));
        const uint64_t moves = update.called + info.queued_ns / 1000;
        print({reduces_ ? info.round : info.group, info.queued_ns / 1000, now_us() - last_end_,
               update.began, update.computed, moves, moves + info.moving_ns / 1000});
        last_end_ = now_us();
    }

    static void print(std::initializer_list<uint64_t> numbers) {
        for (const uint64_t number : numbers)
            std::printf("%llu ", static_cast<unsigned long long>(number));
        std::printf("\n");
    }

    void check(pace_status status) const {
        if (status == PACE_OK) return;
        std::fprintf(stderr, "rank %u: %s: %s\n", options_.rank, pace_status_name(status),
                     error_.message);
        std::exit(1);
    }

    Options options_;
    bool reduces_ = false;
    Update kept_;
    uint64_t last_end_ = now_us();
    pace_session* session_ = nullptr;
    pace_buffer buffer_{};
    pace_error error_{};
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 10) {
        std::fprintf(stderr,
                     "usage: loopback_worker ENDPOINT RANK WORLD POLICY GROUP_SIZE MODE "
                     "RUN_US STEP_US ELEMENTS\n");
        return 2;
    }
    const auto number = [argv](int i) { return std::strtoull(argv[i], nullptr, 10); };
    Options options;
    options.endpoint = argv[1];
    options.rank = static_cast<uint32_t>(number(2));
    options.world = static_cast<uint32_t>(number(3));
    options.policy = argv[4];
    options.group_size = static_cast<uint32_t>(number(5));
    options.mode = argv[6];
    options.run_us = number(7);
    options.step_us = number(8);
    options.elements = number(9);
    Worker(options).run();
}
