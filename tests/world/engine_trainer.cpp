#include "tests/world/engine_trainer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace pace::world {

using base::ErrorKind;
using daemon::Engine;
using protocol::Outcome;
using protocol::Verb;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// The trainer's end of its session with one life of its daemon.
class EngineTrainer::Session final : public daemon::WorkerPort,
                                     public std::enable_shared_from_this<EngineTrainer::Session> {
  public:
    explicit Session(EngineTrainer& trainer) : trainer_(trainer) {}

    void request_ended(uint64_t id, const daemon::Ending& ending) override {
        if (over) return;
        if (id != trainer_.calling_)
            return trainer_.ledger_.wrong(
                fmt::format("{}: request {} ended, which is not in flight", trainer_.name_, id));
        trainer_.calling_ = 0;
        trainer_.later(trainer_.clockwork_.uniform(microseconds(5), microseconds(50)),
                       [session = shared_from_this(), ending] {
                           if (!session->over) session->trainer_.ended(ending);
                       });
    }
    void request_waits(uint64_t /*id*/, const std::string& what) override { waits = what; }
    bool process_stopped() const override { return trainer_.frozen_; }

    std::optional<daemon::Seat> seat;
    uint64_t ticket = 0;
    uint64_t life = 0;  // of its daemon
    bool over = false;  // nothing that comes of it counts
    std::string waits;

  private:
    EngineTrainer& trainer_;
};

EngineTrainer::EngineTrainer(Clockwork& clockwork, Ledger& ledger, TrainerPort& port,
                             const protocol::JobOptions& job, uint32_t rank, MachineId machine)
    : Trainer(clockwork, ledger, port, job, rank, machine) {}

EngineTrainer::~EngineTrainer() {
    daemon_dies();
}

Self EngineTrainer::self() const {
    return {job_, rank_, session_ && session_->seat ? session_->seat->job->state().token : 0,
            name_};
}

// Runs when the process runs, unless it has ended by then.
void EngineTrainer::later(Duration delay, std::function<void()> run) {
    clockwork_.after(delay, [this, run = std::move(run), life = life_] {
        if (life != life_) return;
        if (frozen_ || port_.sleeps(machine_))
            frozen_work_.push_back(run);
        else
            run();
    });
}

// The daemon that the session is with; null if it is there no more.
DaemonProcess* EngineTrainer::daemon_of(const Session* session) const {
    DaemonProcess* const daemon = port_.daemon_of(machine_);
    const bool is_its = session != nullptr && daemon != nullptr && daemon->life() == session->life;
    return is_its ? daemon : nullptr;
}

void EngineTrainer::begin() {
    if (state_ != State::absent) return;
    ++life_;
    frozen_ = false;
    frozen_work_.clear();
    joined_before_ = false;
    broadcasts_ = true;
    step_ = iteration_ = rounds_ = 0;
    run_ = {};
    step_takes_ = clockwork_.uniform(microseconds(500), milliseconds(12));
    program_ = program_of(job_);
    program_->begin(self());
    state_ = State::opening;
    later(clockwork_.uniform({}, milliseconds(30)), [this] { open(); });
}

void EngineTrainer::end(bool orderly) {
    if (state_ == State::absent) return;
    const auto session = session_;
    daemon_dies();
    state_ = State::absent;
    ++life_;
    frozen_work_.clear();
    DaemonProcess* const daemon = daemon_of(session.get());
    if (daemon == nullptr) return;
    daemon->tell([session, orderly, buffers = buffers_](Engine& engine) {
        engine.forget(session->ticket);
        if (!session->seat) return;
        if (orderly)
            engine.leave(*session->seat, [] {});
        else
            engine.died(*session->seat, buffers);
        session->seat.reset();
    });
}

void EngineTrainer::set_frozen(bool frozen) {
    if (state_ == State::absent) return;
    frozen_ = frozen;
    if (!frozen) wake();
}

void EngineTrainer::wake() {
    if (frozen_ || port_.sleeps(machine_)) return;
    for (auto& work : std::exchange(frozen_work_, {})) later({}, std::move(work));
}

void EngineTrainer::cancel_call() {
    DaemonProcess* const daemon = daemon_of(session_.get());
    if (calling_ == 0 || daemon == nullptr) return;
    daemon->tell([session = session_, id = calling_](Engine& engine) {
        if (!session->over && session->seat) engine.cancel(*session->seat, id);
    });
}

void EngineTrainer::daemon_dies() {
    if (!session_) return;
    session_->over = true;
    session_.reset();
    calling_ = 0;
    ledger_.begins_anew(name_);
    if (state_ == State::absent) return;
    // libpace tells those that wait in a call. Some programs ask for the model anew, and some
    // repeat the call. Those that compute hear nothing: their next call reconnects.
    if (state_ == State::calling && program_->takes_model_anew() && clockwork_.below(2) == 0)
        broadcasts_ = true;
    state_ = State::opening;
    later(clockwork_.uniform(microseconds(100), milliseconds(2)), [this] { open(); });
}

// ----------------------------------------------------------------------------------------- joining

void EngineTrainer::open() {
    if (session_) return;
    DaemonProcess* const daemon = port_.daemon_of(machine_);
    if (daemon == nullptr) return later(milliseconds(20), [this] { open(); });
    session_ = std::make_shared<Session>(*this);
    session_->life = daemon->life();
    daemon->keep(session_, [session = session_.get()] { session->seat.reset(); });
    daemon::JoinRequest request;
    request.rank = rank_;
    request.options = job_;
    request.uid = 1000;
    request.again = joined_before_;
    request.iteration_untrusted = iteration_;
    request.rounds_untrusted = rounds_;
    request.run = run_;
    daemon->tell([session = session_, request, this, life = life_](Engine& engine) {
        if (session->over) return;
        session->ticket = engine.join(
            request, session.get(), [this, session, life](base::Result<daemon::Seat> seat) {
                if (seat) session->seat = *seat;
                if (session->over || life != life_) return;
                later(microseconds(20), [this, session, seat = std::move(seat)] {
                    if (!session->over) joined(seat);
                });
            });
    });
}

void EngineTrainer::joined(base::Result<daemon::Seat> seat) {
    if (!seat) return refused(seat.error());
    joined_before_ = true;
    run_ = seat->job->state().run;
    buffers_ = {new_buffer(program_->model())};
    left_.clear();
    call(broadcasts_);
}

void EngineTrainer::refused(const base::Error& error) {
    last_error_ = error.message;
    if (error.kind == ErrorKind::invalid || error.kind == ErrorKind::internal ||
        error.kind == ErrorKind::corrupt)
        ledger_.wrong(fmt::format("{}: could not join: {}", name_, error.message));
    session_->over = true;
    session_.reset();
    // The run that it was in is over, or nobody knows it: a new process takes its place.
    if (error.kind == ErrorKind::closed) {
        state_ = State::absent;
        return begin();
    }
    later(clockwork_.uniform(milliseconds(20), milliseconds(100)), [this] { open(); });
}

// ------------------------------------------------------------------------------------------- calls

daemon::BufferPtr EngineTrainer::new_buffer(std::span<const float> contents) {
    auto buffer = std::make_shared<daemon::Buffer>();
    buffer->memory = base::MappedMemfd::create("world", contents.size_bytes(), false).value();
    buffer->count = contents.size();
    std::memcpy(buffer->memory.data(), contents.data(), contents.size_bytes());
    return buffer;
}

void EngineTrainer::compute() {
    state_ = State::computing;
    const auto jitter =
        static_cast<int64_t>(clockwork_.below(static_cast<uint64_t>(step_takes_.count()) / 2 + 1));
    later(step_takes_ + Duration(jitter), [this] { call(false); });
}

void EngineTrainer::call(bool broadcasts) {
    if (!session_ || !session_->seat) return;
    broadcasts_ = broadcasts;
    state_ = State::calling;
    called_at_ = clockwork_.now();
    submit();
}

void EngineTrainer::submit() {
    DaemonProcess* const daemon = daemon_of(session_.get());
    if (daemon == nullptr) return;
    daemon::Request request;
    if (broadcasts_)
        request.verb = Verb::broadcast;
    else
        request = program_->next(step_);
    check_untouched();
    // The model stays in one buffer, from which the daemon gives it to newcomers.
    buffers_.resize(1);
    std::memcpy(buffers_[0]->memory.data(), program_->model().data(),
                program_->model().size_bytes());
    if (!broadcasts_) {
        const auto contents = program_->contents(self(), step_);
        if (!contents.empty()) buffers_.push_back(new_buffer(contents));
    }
    request.id = calling_ = ++requests_;
    request.buffers = {buffers_.back()};
    request.elements = request.ready = buffers_.back()->count;
    daemon->tell([session = session_, request](Engine& engine) {
        if (!session->over && session->seat) engine.submit(*session->seat, request);
    });
}

std::span<const std::byte> EngineTrainer::model_buffer() const {
    return {buffers_[0]->memory.data(), buffers_[0]->bytes()};
}

// Between calls nobody writes to a trainer's buffers but itself.
void EngineTrainer::check_untouched() {
    if (!left_.empty() && !std::ranges::equal(left_, model_buffer()))
        ledger_.wrong(name_ + ": something was written to its buffer between two calls");
}

void EngineTrainer::ended(const daemon::Ending& ending) {
    left_.assign(model_buffer().begin(), model_buffer().end());
    ledger_.tell("{}: {} of step {} ended with {}, group {}, iteration {}, {} rounds {}", name_,
                 broadcasts_ ? "broadcast" : "call", step_, static_cast<int>(ending.outcome),
                 ending.group, ending.iteration, ending.rounds, ending.message);
    ledger_.trace(static_cast<uint64_t>(clockwork_.now().time_since_epoch().count()));
    ledger_.trace((uint64_t{rank_} << 8U) | static_cast<uint8_t>(ending.outcome));
    switch (ending.outcome) {
        case Outcome::done:
            return done(ending);
        case Outcome::stale:
            if (!port_.may_lose_places())
                ledger_.wrong(fmt::format("{}: was taken out: {}", name_, ending.message));
            return call(true);
        case Outcome::aborted:
        case Outcome::canceled:
            return later(microseconds(100), [this] { call(broadcasts_); });
        case Outcome::failed:
            return failed(ending);
    }
}

void EngineTrainer::done(const daemon::Ending& ending) {
    ledger_.count_call();
    if (broadcasts_)
        ledger_.begins_anew(name_);
    else
        ledger_.went_on(name_, called_at_);
    iteration_ = ending.iteration;
    const daemon::Buffer& buffer = *buffers_.back();
    const std::span<const float> result(reinterpret_cast<const float*>(buffer.memory.data()),
                                        buffer.count);
    if (broadcasts_) {
        rounds_ = ending.group + 1;
        std::ranges::copy(result, program_->model().begin());
        program_->took_model(self(), ending, ledger_);
        step_ = program_->step_after(ending.iteration);
        return compute();
    }
    const auto verb = program_->next(step_).verb;
    if (verb == Verb::reduce) rounds_ = ending.group + 1;
    if (buffers_.size() == 1) std::ranges::copy(result, program_->model().begin());
    step_ = program_->ended(self(), step_, ending, result, ledger_);
    ++steps_;
    if (verb == Verb::push) return call(false);
    compute();
}

void EngineTrainer::failed(const daemon::Ending& ending) {
    last_error_ = ending.message;
    const bool lacks_root = broadcasts_ && ending.kind == ErrorKind::invalid;  // for a while
    if (ending.kind == ErrorKind::no_controller || lacks_root)
        return later(milliseconds(20), [this] { call(true); });
    // No worker can give it the model: it goes on with its own.
    if (broadcasts_ && ending.kind == ErrorKind::not_found) {
        ledger_.keeps_parameters(name_);
        return call(false);
    }
    if (ending.kind != ErrorKind::closed && !ledger_.may_differ(ending.kind))
        ledger_.wrong(fmt::format("{}: a call failed: {}", name_, ending.message));
    end(false);
    begin();
}

std::string EngineTrainer::doing() const {
    switch (state_) {
        case State::absent:
            return name_ + " is not there";
        case State::opening:
            return fmt::format("{} joins; the last error was: {}", name_,
                               last_error_.empty() ? "none" : last_error_);
        case State::computing:
            return fmt::format("{} computes step {}", name_, step_);
        case State::calling:
            return fmt::format("{} is in {} of step {} for {:.3f} s, and waits for: {}", name_,
                               broadcasts_ ? "a broadcast" : "the call", step_,
                               base::to_seconds(clockwork_.now() - called_at_),
                               session_ && !session_->waits.empty() ? session_->waits : "?");
    }
    return name_;
}

}  // namespace pace::world
