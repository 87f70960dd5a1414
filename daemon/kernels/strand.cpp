#include "daemon/kernels/strand.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "base/attempt.h"

namespace pace::kernels {

Strand::Strand(std::optional<Aside> aside) {
    if (aside) state_->aside.emplace(std::move(*aside));
}

Strand::~Strand() {
    state_->ended = true;
    // What the steps hold may look at this state.
    const std::deque<Step> dropped = std::exchange(state_->waiting, {});
}

void Strand::run(size_t bytes, size_t size, size_t grain, WorkerPool::Work work, Done done) {
    state_->waiting.push_back({bytes, size, grain, std::move(work), std::move(done)});
    const std::shared_ptr<State> state = state_;  // `done` may end this
    state->go_on();
}

void Strand::run(size_t bytes, std::function<void()> work, Done done) {
    run(
        bytes, 1, 1, [work = std::move(work)](size_t, size_t) { work(); }, std::move(done));
}

void Strand::then(std::function<void()> done) {
    run(0, 0, 1, {}, [done = std::move(done)](const base::Result<>&) { done(); });
}

bool Strand::is_idle() const {
    return !state_->working && state_->waiting.empty();
}

void Strand::State::go_on() {
    while (!working && !ended && !waiting.empty()) {
        Step step = std::move(waiting.front());
        waiting.pop_front();
        begin(std::move(step));
    }
}

void Strand::State::begin(Step step) {
    working = true;
    const auto found_none = std::make_shared<std::atomic<bool>>(false);
    // The work alone has what it holds, which goes where it was done: giving it back may take long, too.
    WorkerPool::Work work = [work = std::move(step.work), found_none](size_t from, size_t to) {
        if (!base::attempt([&] { work(from, to); })) *found_none = true;
    };
    const auto at_once = std::make_shared<bool>(true);
    auto ended_work = [self = shared_from_this(), done = std::move(step.done), found_none,
                       at_once] {
        self->working = false;
        const bool told = base::attempt([&] {
            if (!self->ended && done)
                done(*found_none ? base::Result<>(base::out_of_memory()) : base::Result<>());
        });
        if (!*at_once) self->go_on();
        if (!told) throw std::bad_alloc();
    };
    if (aside) {
        aside->run(step.bytes, step.size, step.grain, std::move(work), std::move(ended_work));
    } else {
        for (size_t from = 0; from < step.size; from += step.grain)
            work(from, std::min(step.size, from + step.grain));
        work = {};
        ended_work();
    }
    *at_once = false;
}

}  // namespace pace::kernels
