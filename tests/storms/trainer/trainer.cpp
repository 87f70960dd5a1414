// storm_trainer: one worker of one job. It trains until SIGTERM. After each outcome it does what
// the documents say. It looks at every result.
//
//   storm_trainer ENDPOINT JOB FAMILY RANK WORLD ELEMENTS STEP_US FIRST_STEP
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "caller.h"
#include "capi/testing/calls.h"
#include "diary.h"
#include "family.h"
#include "sequence.h"

namespace pace::storms {
namespace {

volatile std::sig_atomic_t told_to_end = 0;

// The number of rounds after which the trainer asks for the residual of top-k.
constexpr uint64_t kOwedEvery = 16;

bool is_over() {
    return told_to_end != 0;
}

void compute(uint64_t us) {
    const timespec time{static_cast<time_t>(us / 1'000'000),
                        static_cast<long>(us % 1'000'000) * 1000};
    nanosleep(&time, nullptr);
}

// The next action of a trainer after a call.
enum class Next : uint8_t {
    step,       // the call is done
    again,      // the call is made again, with the same contents
    broadcast,  // the worker needs a model first
};

class Trainer {
  public:
    Trainer(Caller& caller, Family& family, uint64_t step_us, const Diary& diary)
        : caller_(caller), family_(family), step_us_(step_us), diary_(diary) {}

    void run() {
        while (!caller_.open()) {
            if (is_over()) return;
            compute(100'000);
        }
        // The memory of a predecessor that was killed may hold anything.
        family_.next_step();
        remake_model();
        Next next = Next::broadcast;
        while (!is_over()) {
            if (next == Next::broadcast && !broadcast()) return;
            compute(step_us_);
            next = family_.kind() == Kind::served ? served_step(next) : step(next);
        }
    }

  private:
    std::span<float> model() { return caller_.data(0); }

    void fill_anew() {
        family_.next_step();
        family_.fill(model());
    }

    Next step(Next last) {
        if (last != Next::again) fill_anew();
        const char* verb = family_.kind() == Kind::averages ? "average" : "reduce";
        diary_.calls(verb, family_.handed_in());
        const pace_status status =
            caller_.collect(verb, 0, [&](pace_request* request) { return hand_in(request); });
        if (status != PACE_OK) return after(verb, status);
        look(verb);
        const bool is_average = family_.kind() == Kind::averages;
        iteration_ = (is_average ? caller_.info().iteration : iteration_) + 1;
        if (family_.owes() && number_of(caller_.info()) % kOwedEvery == 0)
            tell_owed(number_of(caller_.info()));
        return Next::step;
    }

    pace_status hand_in(pace_request* request) {
        if (family_.kind() == Kind::averages)
            return pace_average(caller_.session(), Slices(caller_.buffer(0), 1), 1,
                                average_at(iteration_), request, caller_.error());
        pace_reduce_options reduce = PACE_REDUCE_OPTIONS_INIT;
        reduce.op = PACE_OP_SUM;
        reduce.call.iteration = iteration_;
        return pace_reduce(caller_.session(), Slices(caller_.buffer(0), 1), 1, &reduce, request,
                           caller_.error());
    }

    // Pulls and pushes. There is no pull if a push of this step must be made again.
    Next served_step(Next last) {
        if (last != Next::again) {
            const pace_status pulled = caller_.collect("pull", 0, [&](pace_request* request) {
                return pace_pull(caller_.session(), Slices(caller_.buffer(0), 1), 1,
                                 pull_at(iteration_), request, caller_.error());
            });
            if (pulled != PACE_OK) {
                const Next next = after("pull", pulled);
                return next == Next::again ? Next::step : next;
            }
            // A worker that was reconnected goes on where its updates do. An update that its daemon
            // had accepted may have been lost with the daemon.
            const uint64_t step = std::exchange(iteration_, caller_.info().iteration);
            if (caller_.has_reconnected() || step != iteration_) {
                diary_.reconnected("pull", step, iteration_);
                family_.forget();
            }
            look("pull");
        }
        family_.fill(caller_.data(1));
        diary_.calls("push", family_.handed_in());
        const pace_status pushed = caller_.collect("push", 1, [&](pace_request* request) {
            return pace_push(caller_.session(), Slices(caller_.buffer(1), 1), 1,
                             push_at(iteration_), request, caller_.error());
        });
        // The buffer does not show the daemon's part of an update. So the update is pushed again,
        // and counts once.
        if (pushed == PACE_E_DAEMON_GONE) return Next::again;
        if (pushed != PACE_OK) return after("push", pushed);
        ++iteration_;
        family_.pushed();
        return Next::step;
    }

    Next after(const char* verb, pace_status status) {
        switch (status) {
            case PACE_ABORTED:
            case PACE_CANCELED:
                return Next::again;
            case PACE_E_DAEMON_GONE:
                return after_death(verb);
            case PACE_STALE:
                family_.forget();
                return Next::broadcast;
            default:
                compute(50'000);
                return Next::broadcast;
        }
    }

    // The daemon was gone. The contents of the buffers tell whether this was the end of the call.
    Next after_death(const char* verb) {
        switch (caller_.contents()) {
            case PACE_CONTENTS_AS_CALLED:
                return Next::again;
            case PACE_CONTENTS_RESULT:
                look_at_inherited(verb);
                ++iteration_;
                return Next::step;
            case PACE_CONTENTS_TORN:
                break;
        }
        // The trainer takes the two ways that the documents name, in turn.
        remake_model();
        if (std::exchange(takes_model_, !takes_model_)) return Next::broadcast;
        return Next::again;
    }

    // Repeats until a broadcast has ended well, or the storm is over.
    bool broadcast() {
        while (!is_over()) {
            if (family_.kind() == Kind::averages && iteration_ == 0) family_.fill(model());
            const pace_status status = caller_.collect("broadcast", 0, [&](pace_request* request) {
                return pace_broadcast(caller_.session(), Slices(caller_.buffer(0), 1), 1, nullptr,
                                      request, caller_.error());
            });
            if (status == PACE_OK) {
                take_model();
                return true;
            }
            // A torn model is never broadcast to others.
            if (status == PACE_E_DAEMON_GONE && caller_.contents() == PACE_CONTENTS_TORN)
                remake_model();
            compute(20'000);
        }
        return false;
    }

    void take_model() {
        const Finding finding = family_.look_at(model());
        if (!finding.wrong.empty()) diary_.wrong("broadcast", finding.wrong);
        family_.take_model(model());
        iteration_ = caller_.info().iteration;
        sequence_.begin_anew();
        diary_.ended_well("broadcast", caller_.info(), finding, caller_.waited_ms());
    }

    // A parameter server's model without any update is valid, too.
    void remake_model() {
        if (family_.kind() == Kind::served) {
            std::ranges::fill(model(), 0.0F);
        } else {
            family_.fill(model());
        }
    }

    void look(const char* verb) {
        Finding finding = family_.look_at(model());
        family_.take(model(), caller_.info(), caller_.members(), finding);
        if (finding.wrong.empty() && family_.kind() < Kind::averages)
            finding.wrong = sequence_.came(number_of(caller_.info()), caller_.info().rounds);
        if (!finding.wrong.empty())
            diary_.wrong(
                verb, "group " + std::to_string(number_of(caller_.info())) + ": " + finding.wrong);
        diary_.ended_well(verb, caller_.info(), finding, caller_.waited_ms());
    }

    void look_at_inherited(const char* verb) {
        Finding finding = family_.look_at(model());
        family_.take(model(), caller_.info(), {}, finding);
        if (!finding.wrong.empty()) diary_.wrong(verb, "a whole result is told: " + finding.wrong);
        const uint64_t group = family_.kind() == Kind::rounds ? sequence_.inherited() : 0;
        if (group == 0) sequence_.begin_anew();
        diary_.inherited(verb, group, finding);
    }

    // Between rounds the residual of a node does not change, because no round runs without this
    // worker.
    void tell_owed(uint64_t group) {
        const pace_status status = caller_.collect("residual_save", 1, [&](pace_request* request) {
            return pace_residual_save(caller_.session(), Slices(caller_.buffer(1), 1), 1, nullptr,
                                      request, caller_.error());
        });
        if (status == PACE_OK) diary_.owed(group, mass_of(caller_.data(1)));
    }

    Caller& caller_;
    Family& family_;
    uint64_t step_us_;
    const Diary& diary_;
    Sequence sequence_;
    uint64_t iteration_ = 0;
    bool takes_model_ = false;
};

int run(const std::vector<std::string>& words) {
    if (words.size() != 9) {
        std::fputs("storm_trainer ENDPOINT JOB FAMILY RANK WORLD ELEMENTS STEP_US FIRST_STEP\n",
                   stderr);
        return 2;
    }
    struct sigaction action {};
    action.sa_handler = [](int) { told_to_end = 1; };
    sigaction(SIGTERM, &action, nullptr);
    const uint64_t elements = std::stoull(words[6]);
    AskedSession options;
    options.endpoint = words[1];
    options.job = words[2];
    options.rank = static_cast<uint32_t>(std::stoul(words[4]));
    options.world = static_cast<uint32_t>(std::stoul(words[5]));
    const auto family = make_family(words[3], options.rank, elements, std::stoull(words[8]));
    if (family == nullptr) {
        std::fprintf(stderr, "storm_trainer: no family '%s'\n", words[3].c_str());
        return 2;
    }
    family->tune(options);
    const Diary diary;
    Caller caller(options, elements, is_over, diary);
    Trainer(caller, *family, std::stoull(words[7]), diary).run();
    return 0;
}

}  // namespace
}  // namespace pace::storms

int main(int argc, char** argv) {
    return pace::storms::run({argv, argv + argc});
}
