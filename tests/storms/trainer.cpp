// storm_trainer: one worker of one job, which trains until SIGTERM, does after each outcome what the documents say, and looks
// at every result.
//
//   storm_trainer ENDPOINT JOB FAMILY RANK WORLD ELEMENTS STEP_US
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "diary.h"
#include "family.h"

namespace pace::storms {
namespace {

volatile std::sig_atomic_t told_to_end = 0;

constexpr int64_t kLookMs = 250;      // how often a wait looks at the clock
constexpr uint64_t kSlowMs = 10'000;  // no request may take longer
constexpr uint32_t kMembers = 128;

void compute(uint64_t us) {
    const timespec time{static_cast<time_t>(us / 1'000'000),
                        static_cast<long>(us % 1'000'000) * 1000};
    nanosleep(&time, nullptr);
}

class Trainer {
  public:
    Trainer(std::string endpoint, std::string job, std::unique_ptr<Family> family, uint32_t rank,
            uint32_t world, uint64_t elements, uint64_t step_us)
        : endpoint_(std::move(endpoint)),
          job_(std::move(job)),
          family_(std::move(family)),
          step_us_(step_us),
          elements_(elements) {
        options_ = PACE_JOB_OPTIONS_INIT;
        options_.name = job_.c_str();
        options_.rank = rank;
        options_.world = world;
        family_->tune(options_);
    }

    int run() {
        if (!open()) return 0;
        family_->next_step();
        family_->fill(model());
        if (broadcast()) train();
        pace_session_free(session_);
        return 0;
    }

  private:
    bool open() {
        while (told_to_end == 0) {
            const pace_status status =
                pace_session_open(endpoint_.c_str(), &options_, &session_, &error_);
            if (status == PACE_OK && make_buffers()) return true;
            if (status == PACE_OK) pace_session_free(std::exchange(session_, nullptr));
            diary_.ended(error_.status, "open", 0, error_.message);
            compute(100'000);
        }
        return false;
    }

    bool make_buffers() {
        void* data = nullptr;
        for (size_t i = 0; i < (family_->is_served() ? 2U : 1U); ++i) {
            if (pace_buffer_create(session_, PACE_F32, elements_, nullptr, &buffers_[i], &data,
                                   &error_) != PACE_OK)
                return false;
            data_[i] = static_cast<float*>(data);
        }
        return true;
    }

    void train() {
        bool again =
            false;  // the last call ended without a result: it is called again with the same contents
        while (told_to_end == 0) {
            compute(step_us_);
            const pace_status status = family_->is_served() ? served_step() : step(again);
            again = status == PACE_ABORTED;
            if (status == PACE_OK || status == PACE_ABORTED || status == PACE_CANCELED) continue;
            if (status != PACE_STALE && status != PACE_E_DAEMON_GONE) compute(50'000);
            if (!broadcast()) return;
        }
    }

    pace_status step(bool again) {
        if (!again) family_->next_step();
        family_->fill(model());
        pace_reduce_options reduce = PACE_REDUCE_OPTIONS_INIT;
        reduce.op = PACE_OP_SUM;
        reduce.iteration = iteration_;
        const char* verb = family_->averages() ? "average" : "reduce";
        const pace_status status = collect(verb, [&](pace_request* request) {
            return family_->averages()
                       ? pace_average(session_, buffers_.data(), 1, iteration_, nullptr, request,
                                      &error_)
                       : pace_reduce(session_, buffers_.data(), 1, &reduce, request, &error_);
        });
        if (status == PACE_OK) {
            look();
            iteration_ = (family_->averages() ? info_.iteration : iteration_) + 1;
        } else if (status == PACE_ABORTED && !is_intact()) {
            diary_.wrong(std::string(verb) + " was aborted, and its buffer is not as it was");
        }
        return status;
    }

    pace_status served_step() {
        const pace_status pulled = collect("pull", [&](pace_request* request) {
            return pace_pull(session_, buffers_.data(), 1, iteration_, nullptr, request, &error_);
        });
        if (pulled != PACE_OK) return pulled;
        look();
        family_->fill({data_[1], elements_});
        const pace_status pushed = collect("push", [&](pace_request* request) {
            return pace_push(session_, &buffers_[1], 1, iteration_, nullptr, request, &error_);
        });
        if (pushed == PACE_OK) ++iteration_;
        return pushed;
    }

    // Until one has ended well, or the storm is over.
    bool broadcast() {
        while (told_to_end == 0) {
            if (family_->averages() && iteration_ == 0) family_->fill(model());
            const pace_status status = collect("broadcast", [&](pace_request* request) {
                return pace_broadcast(session_, buffers_.data(), 1, 0, request, &error_);
            });
            if (status == PACE_OK) {
                family_->take_model(model());
                iteration_ = info_.iteration;
                return true;
            }
            compute(20'000);
        }
        return false;
    }

    template <typename Call>
    pace_status collect(const char* verb, Call call) {
        pace_request request{};
        pace_status status = call(&request);
        waited_ms_ = 0;
        if (status != PACE_OK) {
            diary_.ended(status, verb, 0, error_.message);
            return status;
        }
        info_ = PACE_REQUEST_INFO_INIT;
        info_.members = members_.data();
        info_.member_capacity = kMembers;
        bool told = false;
        do {
            const uint64_t began = now_ns();
            status = pace_request_wait(session_, request, kLookMs, &info_, &error_);
            // A look that took much longer is one during which this process was frozen itself.
            waited_ms_ += std::min<uint64_t>((now_ns() - began) / 1'000'000, kLookMs);
            if (!told && waited_ms_ > kSlowMs) {
                told = true;
                diary_.slow(verb, waited_ms_);
            }
            if (told && told_to_end != 0) std::exit(3);
        } while (status == PACE_TIMEOUT);
        if (status != PACE_OK) diary_.ended(status, verb, waited_ms_, error_.message);
        return status;
    }

    void look() {
        const Finding finding =
            family_->look_at(model(), info_, {members_.data(), info_.member_listed});
        if (!finding.wrong.empty())
            diary_.wrong("group " + std::to_string(info_.group) + ": " + finding.wrong);
        diary_.ended_well(info_.group, finding, waited_ms_);
    }

    bool is_intact() {
        std::vector<float> was(elements_);
        family_->fill(was);
        return std::equal(was.begin(), was.end(), data_[0]);
    }

    std::span<float> model() { return {data_[0], elements_}; }

    std::string endpoint_;
    std::string job_;
    std::unique_ptr<Family> family_;
    uint64_t step_us_;
    uint64_t elements_;
    pace_job_options options_;
    pace_session* session_ = nullptr;
    std::array<pace_buffer, 2> buffers_{};
    std::array<float*, 2> data_{};
    std::array<pace_member, kMembers> members_{};
    pace_request_info info_ = PACE_REQUEST_INFO_INIT;
    pace_error error_{};
    uint64_t iteration_ = 0;
    uint64_t waited_ms_ = 0;
    Diary diary_;
};

int run(const std::vector<std::string>& words) {
    if (words.size() != 8) {
        std::fputs("storm_trainer ENDPOINT JOB FAMILY RANK WORLD ELEMENTS STEP_US\n", stderr);
        return 2;
    }
    struct sigaction action {};
    action.sa_handler = [](int) { told_to_end = 1; };
    sigaction(SIGTERM, &action, nullptr);
    const auto rank = static_cast<uint32_t>(std::stoul(words[4]));
    const uint64_t elements = std::stoull(words[6]);
    auto family = make_family(words[3], rank, elements);
    if (family == nullptr) {
        std::fprintf(stderr, "storm_trainer: no family '%s'\n", words[3].c_str());
        return 2;
    }
    return Trainer(words[1], words[2], std::move(family), rank,
                   static_cast<uint32_t>(std::stoul(words[5])), elements, std::stoull(words[7]))
        .run();
}

}  // namespace
}  // namespace pace::storms

int main(int argc, char** argv) {
    return pace::storms::run({argv, argv + argc});
}
