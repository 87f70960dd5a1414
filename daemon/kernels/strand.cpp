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
    // Destroying the steps may access this state.
    const std::deque<Step> dropped = std::exchange(state_->waiting, {});
}

void Strand::run(size_t bytes, size_t size, size_t grain, WorkerPool::Work work, Done done) {
    state_->waiting.push_back({bytes, size, grain, std::move(work), std::move(done)});
    // `done` may destroy this Strand.
    const std::shared_ptr<State> state = state_;
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

struct Strand::State::UnderWay {
    Done done;
    std::atomic<bool> found_none = false;
    bool at_once = true;
    bool has_ended = false;
};

void Strand::State::begin(Step step) {
    working = true;
    std::shared_ptr<UnderWay> under_way;
    const bool begun = base::attempt([&] {
        under_way = std::make_shared<UnderWay>();
        under_way->done = std::move(step.done);
        run(step, under_way);
    });
    if (begun) {
        under_way->at_once = false;
        return;
    }
    // `done` was called and ran out of memory.
    if (under_way && under_way->has_ended) throw std::bad_alloc();
    working = false;
    const Done done = std::move(under_way ? under_way->done : step.done);
    if (!ended && done) done(base::out_of_memory());
}

void Strand::State::run(Step& step, const std::shared_ptr<UnderWay>& under_way) {
    // Only the work owns its captured objects. So they are freed in the work's thread, because
    // freeing may also take long.
    WorkerPool::Work work = [work = std::move(step.work), under_way](size_t from, size_t to) {
        if (!base::attempt([&] { work(from, to); })) under_way->found_none = true;
    };
    auto ended_work = [self = shared_from_this(), under_way] {
        self->working = false;
        under_way->has_ended = true;
        const bool told = base::attempt([&] {
            if (!self->ended && under_way->done)
                under_way->done(under_way->found_none ? base::Result<>(base::out_of_memory())
                                                      : base::Result<>());
        });
        under_way->done = {};
        if (!under_way->at_once) self->go_on();
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
}

}  // namespace pace::kernels
