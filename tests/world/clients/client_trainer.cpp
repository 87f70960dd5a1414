#include "tests/world/clients/client_trainer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "protocol/ring.h"
#include "tests/world/clients/garbage.h"

namespace pace::world {

using std::chrono::microseconds;

ClientTrainer::ClientTrainer(Clockwork& clockwork, Ledger& ledger, TrainerPort& port,
                             Machines& machines, Processes& processes,
                             const protocol::JobOptions& job, uint32_t rank, MachineId machine,
                             std::string socket)
    : Trainer(clockwork, ledger, port, job, rank, machine),
      machines_(machines),
      processes_(processes),
      socket_(std::move(socket)) {}

ClientTrainer::~ClientTrainer() {
    end(false);
}

size_t ClientTrainer::session_bytes() const {
    return protocol::RingLayout{protocol::kRingSlots, job_.world}.bytes();
}

// ------------------------------------------------------------------------- its life, as others see

void ClientTrainer::begin() {
    begins_again_ = leaves_;
    if (strand_) return;
    ++life_;
    frozen_ = leaves_ = begins_again_ = cancels_ = signaled_ = false;
    frozen_work_.clear();
    activity_ = {};
    seed_ = clockwork_.below(UINT64_MAX);
    strand_ = std::make_unique<Strand>([this] { live(); });
    later({}, [this] { resume(); });
}

void ClientTrainer::live() {
    ClientLife life(*this, ledger_, activity_, job_, rank_, name_, socket_, seed_);
    model_bytes_ = life.model_bytes();
    life.run();
}

void ClientTrainer::end(bool orderly) {
    if (!strand_) return;
    begins_again_ = false;
    if (orderly) {
        leaves_ = signaled_ = true;
        return look(true);
    }
    ++life_;
    leaves_ = false;
    frozen_work_.clear();
    {
        machines_.enter(machine_);
        const Processes::Runs runs(processes_, this);
        strand_.reset();
    }
    rest_.reset();
    ledger_.begins_anew(name_);
}

void ClientTrainer::set_frozen(bool frozen) {
    if (!strand_) return;
    frozen_ = frozen;
    ++stops_;
    if (!frozen) wake();
}

void ClientTrainer::wake() {
    ++stops_;
    if (stands_still()) return;
    for (auto& work : std::exchange(frozen_work_, {})) later({}, std::move(work));
    look(true);
}

void ClientTrainer::cancel_call() {
    if (!strand_) return;
    cancels_ = signaled_ = true;
    look(true);
}

void ClientTrainer::scribble() {
    const auto ring = processes_.ring_of(*this);
    if (strand_ && !ring.empty()) write_garbage(ring, clockwork_, is_in_call());
}

std::string ClientTrainer::doing() const {
    if (!strand_) return name_ + " is not there";
    return fmt::format("{} {} for {:.3f} s{}; the last error was: {}", name_, activity_.text,
                       base::to_seconds(clockwork_.now() - activity_.since),
                       frozen_ ? ", frozen" : "",
                       activity_.last_error.empty() ? "none" : activity_.last_error);
}

// --------------------------------------------------------------------------------------- its
// strand

// Runs when the process runs, unless it has ended by then.
void ClientTrainer::later(Duration delay, std::function<void()> run) {
    clockwork_.after(delay, [this, run = std::move(run), life = life_] {
        if (life != life_) return;
        if (stands_still())
            frozen_work_.push_back(run);
        else
            run();
    });
}

void ClientTrainer::look(bool stirred) {
    if (!rest_ || rest_->is_over || stands_still()) return;
    machines_.enter(machine_);
    const bool is_due = base::now() >= rest_->deadline;
    const bool has_come = stirred && !rest_->watched.empty() &&
                          poll(rest_->watched.data(), rest_->watched.size(), 0) > 0;
    if (!is_due && !signaled_ && !has_come) return;
    rest_->is_over = true;
    later(is_due ? Duration() : clockwork_.uniform(microseconds(2), microseconds(40)),
          [this] { resume(); });
}

std::optional<TimePoint> ClientTrainer::next_timer() const {
    if (!rest_ || rest_->is_over || stands_still()) return {};
    return rest_->deadline;
}

void ClientTrainer::resume() {
    machines_.enter(machine_);
    {
        const Processes::Runs runs(processes_, this);
        strand_->resume();
    }
    if (!strand_->has_ended()) return;
    ++life_;
    strand_.reset();
    rest_.reset();
    leaves_ = false;
    ledger_.begins_anew(name_);
    if (begins_again_) begin();
}

void ClientTrainer::rest(std::span<pollfd> watched, TimePoint deadline) {
    rest_ = Rest{{watched.begin(), watched.end()}, deadline};
    strand_->rest();
    rest_.reset();
}

int ClientTrainer::wait(std::span<pollfd> watched, TimePoint deadline) {
    for (;;) {
        if (std::exchange(signaled_, false)) {
            errno = EINTR;
            return -1;
        }
        const int ready = poll(watched.data(), watched.size(), 0);
        if (ready != 0 || base::now() >= deadline) return ready;
        rest(watched, deadline);
    }
}

void ClientTrainer::passes(const std::string& point) {
    if (!port_.at_trainers_point(point, *this)) throw Strand::Killed();
    // The faults that are due happen here.
    if (port_.has_faults_due()) rest({}, base::now());
}

}  // namespace pace::world
