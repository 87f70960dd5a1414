#include "controller_process.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "service/controller/shell/journal_format.h"

namespace pace::world {

using std::chrono::microseconds;
using std::chrono::milliseconds;

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
    std::vector<std::byte> file = controller::journal_header();
    for (const Record& record : journal_)
        controller::append_record(file, file.size(), record.bytes, file.size());
    // The last record may be there in part.
    if (!journal_.empty() && clockwork_.below(2) == 0) {
        std::vector<std::byte> torn = file;
        controller::append_record(torn, torn.size(), journal_.back().bytes, torn.size());
        torn.resize(file.size() + clockwork_.below(torn.size() - file.size()));
        file = std::move(torn);
    }
    const auto recovered = controller::recover_journal(file);
    if (!recovered || recovered->whole_behind != 0) {
        broken_ = recovered ? "a torn journal counts as damaged" : recovered.error().message;
        return;
    }
    for (const auto& record : recovered->records)
        if (const auto replayed = dispatcher_->replay(record); !replayed)
            broken_ = "a record does not replay: " + replayed.error().message;
    clock_ = controller::AwakeClock(base::now_through_sleep());
    dispatcher_->replay_finished(now());
    if (clockwork_.below(2) == 0) {
        journal_.clear();
        for (auto& record : dispatcher_->core().journal_snapshot())
            journal_.push_back({std::move(record), clockwork_.now()});
    }
    pulse_ = base::now();
    board_.listen(true);
}

void ControllerProcess::die() {
    board_.listen(false);
    dispatcher_.reset();
    while (!journal_.empty() && journal_.back().durable > clockwork_.now()) journal_.pop_back();
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
    const Duration takes = clockwork_.uniform(microseconds(100), milliseconds(10));
    TimePoint durable = clockwork_.now() + takes;
    if (!journal_.empty()) durable = std::max(durable, journal_.back().durable);
    // While the disk fails, the writer tries again until it can be written.
    if (disk_fails_) durable = std::max(durable, clockwork_.now() + std::chrono::seconds(1));
    journal_.push_back({std::move(record), durable});
    [[maybe_unused]] const bool lives = point_("after");
}

std::optional<base::Error> ControllerProcess::journal_failure() const {
    if (!disk_fails_) return {};
    return base::make_error(base::ErrorKind::disk, "the simulated disk is full");
}

}  // namespace pace::world
