// server_throughput: workers that push updates to a parameter server, or pull its model, as fast as
// they can. It prints one JSON object. bench/servers/throughput starts it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "capi/testing/asked_session.h"
#include "capi/testing/calls.h"
#include "pace.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
    std::vector<std::string> endpoints;
    uint32_t workers = 4;
    uint64_t elements = 1 << 20;
    uint64_t entries = 0;  // entries of a sparse update; 0 means dense
    bool pulls = false;    // pulls are measured; otherwise pushes
    double seconds = 2;
};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "server_throughput: %s\n", what.c_str());
    std::exit(1);
}

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        const std::string word = argv[i + 1];
        if (name == "--endpoint") {
            options.endpoints.push_back(word);
        } else if (name == "--workers") {
            options.workers = static_cast<uint32_t>(std::stoul(word));
        } else if (name == "--elements") {
            options.elements = std::stoull(word);
        } else if (name == "--entries") {
            options.entries = std::stoull(word);
        } else if (name == "--pulls") {
            options.pulls = word == "1";
        } else if (name == "--seconds") {
            options.seconds = std::stod(word);
        } else {
            fail("what is " + name + "?");
        }
    }
    if (options.endpoints.empty()) fail("--endpoint is missing");
    return options;
}

class Worker {
  public:
    Worker(const Options& options, uint32_t rank) : options_(options) {
        pace::AskedSession job;
        job.job = "throughput";
        job.rank = rank;
        job.world = options.workers;
        job.policy = PACE_POLICY_ASP;
        job.set(PACE_OPT_SERVER_RATE, "sum");
        job.set(PACE_OPT_SERVER_ELEMENTS, options.elements);
        job.endpoint = options.endpoints[rank % options.endpoints.size()];
        check(job.open(&session_, &error_));
        values_ = static_cast<float*>(create(PACE_F32, options.elements, model_));
        if (options.entries == 0) return;
        auto* indices = static_cast<uint32_t*>(create(PACE_U32, options.entries, update_[0]));
        auto* entries = static_cast<float*>(create(PACE_F32, options.entries, update_[1]));
        for (uint64_t i = 0; i < options.entries; ++i)
            indices[i] = static_cast<uint32_t>(i * options.elements / options.entries);
        std::fill_n(entries, options.entries, 1.0F);
    }
    ~Worker() {
        pace_session_leave(session_, 1000, nullptr);
        pace_session_free(session_);
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void push() {
        pace_request request{};
        if (options_.entries == 0) {
            check(pace_push(session_, pace::Slices(&model_, 1), 1, pace::push_at(clock_), &request,
                            &error_));
        } else {
            pace_push_options sparse = PACE_PUSH_OPTIONS_INIT;
            sparse.call.iteration = clock_;
            sparse.sparse = 1;
            sparse.entries = options_.entries;
            check(pace_push(session_, pace::Slices(update_, 2), 2, &sparse, &request, &error_));
        }
        finish(request);
        ++clock_;
    }
    // Writes the update again, because a pull leaves something else in the buffer.
    void set_update() { std::fill_n(values_, options_.elements, 1.0F); }
    // Pulls a model that has all pushes of this worker.
    void pull() {
        pace_request request{};
        check(pace_pull(session_, pace::Slices(&model_, 1), 1, pace::pull_at(clock_), &request,
                        &error_));
        finish(request);
    }

  private:
    void* create(int32_t type, uint64_t count, pace_buffer& buffer) {
        void* data = nullptr;
        check(pace_buffer_create(session_, type, count, nullptr, &buffer, &data, &error_));
        return data;
    }
    void finish(pace_request request) {
        check(pace_request_wait(session_, request, PACE_FOREVER, nullptr, nullptr, &error_));
    }
    void check(pace_status status) const {
        if (status != PACE_OK) fail(std::string(pace_status_name(status)) + " " + error_.message);
    }

    const Options& options_;
    pace_session* session_ = nullptr;
    pace_error error_{};
    pace_buffer model_{};
    pace_buffer update_[2]{};
    float* values_ = nullptr;
    uint64_t clock_ = 0;
};

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

double quantile(std::vector<double>& sorted, double share) {
    if (sorted.empty()) return 0;
    return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = parse(argc, argv);
    std::vector<std::unique_ptr<Worker>> workers;
    for (uint32_t rank = 0; rank < options.workers; ++rank)
        workers.push_back(std::make_unique<Worker>(options, rank));
    for (auto& worker : workers) worker->pull();  // the first view exists then
    for (auto& worker : workers) worker->set_update();
    std::mutex mutex;
    std::vector<double> latencies;
    std::vector<std::thread> threads;
    const auto begin = Clock::now();
    for (auto& worker : workers)
        threads.emplace_back([&] {
            std::vector<double> own;
            while (seconds_since(begin) < options.seconds) {
                const auto call = Clock::now();
                if (options.pulls) {
                    worker->pull();
                } else {
                    worker->push();
                }
                own.push_back(seconds_since(call));
            }
            if (!options.pulls) worker->pull();  // then all of its pushes are in the model
            const std::lock_guard lock(mutex);
            latencies.insert(latencies.end(), own.begin(), own.end());
        });
    for (std::thread& thread : threads) thread.join();
    const double seconds = seconds_since(begin);
    std::sort(latencies.begin(), latencies.end());
    std::printf("{\"calls\": %zu, \"seconds\": %.4f, \"median_ms\": %.4f, \"p99_ms\": %.4f}\n",
                latencies.size(), seconds, quantile(latencies, 0.5) * 1000,
                quantile(latencies, 0.99) * 1000);
    return 0;
}
