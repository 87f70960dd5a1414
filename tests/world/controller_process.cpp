#include "tests/world/controller_process.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "service/controller/shell/journal/journal_format.h"

namespace pace::world {

namespace {

constexpr int kBatch = 256;

}  // namespace

void ControllerProcess::start() {
    machines_.enter(machines_.controllers());
    silent_ = false;
    frozen_ = false;
    controller::Dispatcher::Options options;
    options.core.seed = ++life_;
    options.core.abandoned_keep = kKeptFor;
    dispatcher_ = std::make_unique<controller::Dispatcher>(options, base::random_token, *this);
    const auto recovered = controller::recover_journal(journal_.file());
    if (!recovered || recovered->whole_behind != 0) {
        broken_ = recovered ? "a torn journal counts as damaged" : recovered.error().message;
        return;
    }
    broken_ = journal_.take_up(recovered->records);
    if (!broken_.empty()) return;
    for (const auto& record : recovered->records)
        if (const auto replayed = dispatcher_->replay(record); !replayed)
            broken_ = "a record does not replay: " + replayed.error().message;
    clock_ = controller::AwakeClock(base::now_through_sleep());
    dispatcher_->replay_finished(now());
    if (clockwork_.below(2) == 0) journal_.replace(dispatcher_->core().journal_snapshot());
    pulse_ = base::now();
    board_.listen(true);
}

void ControllerProcess::die() {
    board_.listen(false);
    dispatcher_.reset();
    journal_.die();
}

TimePoint ControllerProcess::now() {
    const TimePoint time = base::now_through_sleep();
    const Duration stood_still = clock_.look(time);
    const TimePoint awake = clock_.at(time);
    if (stood_still < controller::AwakeClock::kGivenUp) return awake;
    dispatcher_->begin_anew(
        fmt::format("the controller did not run for {:.1f} s", base::to_seconds(stood_still)),
        awake);
    return awake;
}

bool ControllerProcess::turn() {
    if (!alive() || frozen_ || silent_) return false;
    machines_.enter(machines_.controllers());
    now();
    // Due timers may run before messages that have arrived.
    bool worked = clockwork_.below(2) == 0 && tick();
    Switchboard::Letter letter;
    for (int taken = 0; taken < kBatch && !silent_ && board_.receive(letter); ++taken) {
        worked = true;
        dispatcher_->receive(letter.route, letter.bytes, now());
    }
    if (silent_) return true;
    worked = tick() || worked;
    pulse_ = base::now();
    return worked;
}

bool ControllerProcess::tick() {
    const TimePoint time = now();
    const auto due = dispatcher_->next_deadline();
    if (!due || *due > time) return false;
    dispatcher_->tick(time);
    return true;
}

std::optional<TimePoint> ControllerProcess::next_timer() const {
    if (!alive() || frozen_ || silent_) return {};
    machines_.enter(machines_.controllers());
    TimePoint next = pulse_ + controller::AwakeClock::kPulse;
    if (const auto due = dispatcher_->next_deadline())
        next = std::min(next, base::now() + clock_.until(*due, base::now_through_sleep()));
    return next;
}

bool ControllerProcess::send(std::string_view route, std::span<const std::byte> message) {
    return silent_ || board_.send(std::string(route), message);
}

void ControllerProcess::append(std::vector<std::byte> record) {
    if (silent_ || !point_("before")) return;
    journal_.append(std::move(record));
    [[maybe_unused]] const bool lives = point_("after");
}

std::optional<base::Error> ControllerProcess::journal_failure() const {
    if (!journal_.fails()) return {};
    return base::make_error(base::ErrorKind::disk, "the simulated disk is full");
}

}  // namespace pace::world
