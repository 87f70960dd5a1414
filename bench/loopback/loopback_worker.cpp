// loopback_worker: one worker that computes (sleeps) for a given time and then averages, or reduces, until its time is over. For
// each update it prints the group, how long its call waited for the exchange to begin, and how long the update took, in
// microseconds.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <time.h>

#include "pace.h"

namespace {

struct Options {
    std::string endpoint;
    uint32_t rank = 0;
    uint32_t world = 0;
    std::string policy;
    uint32_t group_size = 0;
    bool announce = false;
    uint64_t run_us = 0;
    uint64_t step_us = 0;
    uint64_t elements = 0;
};

int32_t policy_of(const std::string& word) {
    static const std::map<std::string, int32_t> policies = {
        {"all-reduce", PACE_POLICY_ALL_REDUCE},
        {"partial-reduce", PACE_POLICY_PARTIAL_REDUCE},
        {"prague-random", PACE_POLICY_PRAGUE_RANDOM},
        {"prague-smart", PACE_POLICY_PRAGUE_SMART},
        {"ad-psgd", PACE_POLICY_AD_PSGD},
        {"full", PACE_POLICY_FULL},
        {"prague-static", PACE_POLICY_PRAGUE_STATIC},
        {"auto", PACE_POLICY_AUTO}};
    const auto policy = policies.find(word);
    return policy == policies.end() ? PACE_POLICY_DEFAULT : policy->second;
}

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
        job.name = "loopback";
        job.rank = options.rank;
        job.world = options.world;
        job.policy = policy_of(options.policy);
        job.group_size = options.group_size;
        check(pace_session_open(options.endpoint.c_str(), &job, &session_, &error_));
        void* data = nullptr;
        check(pace_buffer_create(session_, PACE_F32, options.elements, nullptr, &buffer_, &data,
                                 &error_));
        reduces_ = job.policy == PACE_POLICY_ALL_REDUCE;
        pace_request request{};
        check(pace_barrier(session_, &request, &error_));
        check(pace_request_wait(session_, request, PACE_FOREVER, nullptr, &error_));
    }
    ~Worker() { pace_session_free(session_); }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void run() {
        const uint64_t end = now_us() + options_.run_us;
        for (uint64_t iteration = 1; now_us() < end; ++iteration) update(iteration);
    }

  private:
    void update(uint64_t iteration) {
        const uint64_t began = now_us();
        if (options_.announce) check(pace_announce(session_, iteration, &error_));
        compute(options_.step_us);
        pace_request request{};
        if (reduces_) {
            check(pace_reduce(session_, &buffer_, 1, nullptr, &request, &error_));
        } else {
            check(pace_average(session_, &buffer_, 1, iteration, nullptr, &request, &error_));
        }
        pace_request_info info = PACE_REQUEST_INFO_INIT;
        check(pace_request_wait(session_, request, PACE_FOREVER, &info, &error_));
        std::printf("%llu %llu %llu\n", static_cast<unsigned long long>(info.group),
                    static_cast<unsigned long long>(info.queued_ns / 1000),
                    static_cast<unsigned long long>(now_us() - began));
    }

    void check(pace_status status) const {
        if (status == PACE_OK) return;
        std::fprintf(stderr, "rank %u: %s: %s\n", options_.rank, pace_status_name(status),
                     error_.message);
        std::exit(1);
    }

    Options options_;
    bool reduces_ = false;
    pace_session* session_ = nullptr;
    pace_buffer buffer_{};
    pace_error error_{};
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 10) {
        std::fprintf(stderr,
                     "usage: loopback_worker ENDPOINT RANK WORLD POLICY GROUP_SIZE ANNOUNCE(0|1) "
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
    options.announce = number(6) != 0;
    options.run_us = number(7);
    options.step_us = number(8);
    options.elements = number(9);
    Worker(options).run();
}
