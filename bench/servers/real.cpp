#include "real.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>

#include "base/random.h"
#include "capi/testing/asked_session.h"
#include "capi/testing/calls.h"
#include "pace.h"

namespace pace::bench {

namespace {

using Clock = std::chrono::steady_clock;

struct Snapshot {
    double time = 0;
    uint64_t updates = 0;
    std::vector<float> model;
};

class RealWorker {
  public:
    RealWorker(const DataSet& data, const SimulationOptions& options, const RealOptions& real,
               size_t number)
        : data_(data),
          options_(options),
          real_(real),
          number_(number),
          learner_(data, options.learner, number, options.workers),
          model_(data.features, 0.0F),
          random_(options.seed + number) {}
    ~RealWorker() {
        pace_session_leave(session_, 1000, nullptr);
        pace_session_free(session_);
    }
    RealWorker(const RealWorker&) = delete;
    RealWorker& operator=(const RealWorker&) = delete;

    bool open() {
        AskedSession job;
        job.job = "convergence";
        job.rank = static_cast<uint32_t>(number_);
        job.world = static_cast<uint32_t>(options_.workers);
        const auto& staleness = options_.server.staleness;
        job.policy = !staleness        ? PACE_POLICY_ASP
                     : *staleness == 0 ? PACE_POLICY_BSP
                                       : PACE_POLICY_SSP;
        if (is_ssp()) job.set(PACE_OPT_SERVER_STALENESS, static_cast<uint32_t>(*staleness));
        job.set(PACE_OPT_SERVER_RATE, protocol::name_of(options_.server.rate));
        job.set(PACE_OPT_SERVER_ELEMENTS, data_.features);
        job.endpoint = real_.endpoints[number_ % real_.endpoints.size()];
        const uint64_t own = data_.begins.back() / options_.workers * 2 + 1024;
        const uint64_t entries = std::min<uint64_t>(own, data_.features);
        return job.open(&session_, &error_) == PACE_OK &&
               create(PACE_F32, data_.features, pulled_, &pulled_data_) &&
               create(PACE_U32, entries, update_[0], &indices_) &&
               create(PACE_F32, entries, update_[1], &values_);
    }

    // Trains until the time is over. `updates` counts the updates of all workers together. Pulled
    // models go to `ret_snapshots`, if it is not null.
    bool run(Clock::time_point begin, std::atomic<uint64_t>& updates,
             std::vector<Snapshot>* ret_snapshots) {
        uint64_t fresh = 0;
        for (uint64_t clock = 0; since(begin) < options_.until; ++clock) {
            if (!step(clock)) return false;
            ++updates;
            if (is_ssp() && fresh + *options_.server.staleness >= clock) continue;
            if (!pull(clock + 1, fresh)) return false;
            std::copy_n(pulled_data_, data_.features, model_.begin());
            if (ret_snapshots != nullptr) ret_snapshots->push_back({since(begin), updates, model_});
        }
        pace_session_leave(session_, 1000, nullptr);  // no other worker waits for it
        return true;
    }
    const pace_error& error() const { return error_; }

  private:
    bool is_ssp() const { return options_.server.staleness && *options_.server.staleness > 0; }
    // Returns the time since `begin` in steps.
    double since(Clock::time_point begin) const {
        return std::chrono::duration<double, std::milli>(Clock::now() - begin).count() /
               real_.step_ms;
    }
    template <typename Element>
    bool create(int32_t type, uint64_t count, pace_buffer& buffer, Element** ret_data) {
        void* data = nullptr;
        if (pace_buffer_create(session_, type, count, nullptr, &buffer, &data, &error_) != PACE_OK)
            return false;
        *ret_data = static_cast<Element*>(data);
        return true;
    }
    bool step(uint64_t clock) {
        const double factor = number_ < options_.slow ? options_.slow_factor : 1;
        const double noise = 1 + options_.jitter * (2 * random_.uniform() - 1);
        const auto end =
            Clock::now() +
            std::chrono::duration_cast<Clock::duration>(
                std::chrono::duration<double, std::milli>(real_.step_ms * factor * noise));
        const double decay = options_.decays ? std::sqrt(0.2 * static_cast<double>(clock) + 1) : 1;
        const sparse::Entries entries = learner_.step(model_, options_.learning_rate / decay);
        std::this_thread::sleep_until(end);
        std::copy(entries.indices.begin(), entries.indices.end(), indices_);
        std::copy(entries.values.begin(), entries.values.end(), values_);
        pace_push_options push = PACE_PUSH_OPTIONS_INIT;
        push.call.iteration = clock;
        push.sparse = 1;
        push.entries = entries.size();
        pace_request request{};
        return pace_push(session_, Slices(update_, 2), 2, &push, &request, &error_) == PACE_OK &&
               pace_request_wait(session_, request, PACE_FOREVER, nullptr, nullptr, &error_) ==
                   PACE_OK;
    }
    bool pull(uint64_t clock, uint64_t& ret_fresh) {
        pace_request request{};
        pace_request_info info = PACE_REQUEST_INFO_INIT;
        if (pace_pull(session_, Slices(&pulled_, 1), 1, pull_at(clock), &request, &error_) !=
                PACE_OK ||
            pace_request_wait(session_, request, PACE_FOREVER, nullptr, &info, &error_) != PACE_OK)
            return false;
        ret_fresh = info.slowest_clock;
        return true;
    }

    const DataSet& data_;
    const SimulationOptions& options_;
    const RealOptions& real_;
    size_t number_;
    Learner learner_;
    std::vector<float> model_;
    base::Random random_;
    pace_session* session_ = nullptr;
    pace_error error_{};
    pace_buffer pulled_{};
    pace_buffer update_[2]{};
    float* pulled_data_ = nullptr;
    uint32_t* indices_ = nullptr;
    float* values_ = nullptr;
};

Outcome outcome_of(const DataSet& data, const SimulationOptions& options,
                   const std::vector<Snapshot>& snapshots) {
    Outcome outcome;
    size_t steady = 0;
    for (const Snapshot& snapshot : snapshots) {
        const double value = objective(data, options.learner, snapshot.model);
        outcome.samples.push_back({snapshot.time, snapshot.updates, value});
        steady = value <= options.target ? steady + 1 : 0;
        if (steady == kSteady && outcome.reached.time == 0)
            outcome.reached = outcome.samples[outcome.samples.size() - kSteady];
    }
    if (!snapshots.empty()) outcome.accuracy = accuracy(data, snapshots.back().model);
    return outcome;
}

}  // namespace

base::Result<Outcome> train(const DataSet& data, const SimulationOptions& options,
                            const RealOptions& real) {
    std::vector<std::unique_ptr<RealWorker>> workers;
    for (size_t i = 0; i < options.workers; ++i) {
        workers.push_back(std::make_unique<RealWorker>(data, options, real, i));
        if (!workers.back()->open())
            return base::make_error(base::ErrorKind::internal, "worker {}: {}", i,
                                    workers.back()->error().message);
    }
    std::vector<Snapshot> snapshots;
    std::atomic<uint64_t> updates = 0;
    std::mutex mutex;
    std::string failure;
    std::vector<std::thread> threads;
    const auto begin = Clock::now();
    for (size_t i = 0; i < workers.size(); ++i)
        threads.emplace_back([&, i] {
            // The last worker is a fast one.
            if (workers[i]->run(begin, updates, i + 1 == workers.size() ? &snapshots : nullptr))
                return;
            const std::lock_guard lock(mutex);
            failure = workers[i]->error().message;
        });
    for (std::thread& thread : threads) thread.join();
    if (!failure.empty()) return base::make_error(base::ErrorKind::internal, "{}", failure);
    return outcome_of(data, options, snapshots);
}

}  // namespace pace::bench
