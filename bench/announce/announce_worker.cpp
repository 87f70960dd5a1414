// announce_worker: one worker of partial reduce that computes (sleeps) for a given time, then averages. For each update it prints the
// group, how long its call waited for the group's exchange to begin, and how long the update took, in microseconds.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <time.h>

#include "pace.h"

namespace {

struct Options {
    std::string endpoint;
    uint32_t rank = 0;
    uint32_t world = 0;
    bool announce = false;
    uint64_t updates = 0;
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
        pace_job_options job = PACE_JOB_OPTIONS_INIT;
        job.name = "announce";
        job.rank = options.rank;
        job.world = options.world;
        job.policy = PACE_POLICY_PARTIAL_REDUCE;
        job.group_size = options.world;
        check(pace_session_open(options.endpoint.c_str(), &job, &session_, &error_));
        void* data = nullptr;
        check(pace_buffer_create(session_, PACE_F32, options.elements, nullptr, &buffer_, &data,
                                 &error_));
    }
    ~Worker() { pace_session_free(session_); }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void run() {
        for (uint64_t iteration = 1; iteration <= options_.updates; ++iteration) {
            const uint64_t began = now_us();
            if (options_.announce) check(pace_announce(session_, iteration, &error_));
            compute(options_.step_us);
            pace_request request{};
            check(pace_average(session_, &buffer_, 1, iteration, nullptr, &request, &error_));
            pace_request_info info = PACE_REQUEST_INFO_INIT;
            check(pace_request_wait(session_, request, PACE_FOREVER, &info, &error_));
            std::printf("%llu %llu %llu\n", static_cast<unsigned long long>(info.group),
                        static_cast<unsigned long long>(info.queued_ns / 1000),
                        static_cast<unsigned long long>(now_us() - began));
        }
    }

  private:
    void check(pace_status status) const {
        if (status == PACE_OK) return;
        std::fprintf(stderr, "rank %u: %s: %s\n", options_.rank, pace_status_name(status),
                     error_.message);
        std::exit(1);
    }

    Options options_;
    pace_session* session_ = nullptr;
    pace_buffer buffer_{};
    pace_error error_{};
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 8) {
        std::fprintf(stderr,
                     "usage: announce_worker ENDPOINT RANK WORLD ANNOUNCE(0|1) UPDATES STEP_US "
                     "ELEMENTS\n");
        return 2;
    }
    const auto number = [argv](int i) { return std::strtoull(argv[i], nullptr, 10); };
    Options options{argv[1],
                    static_cast<uint32_t>(number(2)),
                    static_cast<uint32_t>(number(3)),
                    number(4) != 0,
                    number(5),
                    number(6),
                    number(7)};
    Worker(options).run();
}
