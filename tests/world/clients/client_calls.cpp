// ClientLife: its calls, how they end, and what must hold of each.
#include <algorithm>
#include <utility>

#include "base/simulation/simulated_process.h"
#include "tests/world/clients/client_life.h"
#include "tests/world/clockwork.h"

namespace pace::world {

using base::ErrorKind;
using protocol::Outcome;
using protocol::Verb;
using protocol::WriteState;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

// How long one wait of a call lasts.
constexpr base::Duration kWaits = std::chrono::seconds(2);
// A call tries to reconnect so often.
constexpr int kReconnects = 3;

}  // namespace

void ClientLife::call() {
    daemon::Request request;
    if (broadcasts_)
        request.verb = Verb::broadcast;
    else
        request = program_->next(step_);
    const auto contents = broadcasts_ ? std::vector<float>() : program_->contents(self(), step_);
    is_on_model_ = contents.empty();
    check_untouched(*model_);
    std::ranges::copy(program_->model(), model_->data);
    if (!is_on_model_) {
        check_untouched(*gradient_);
        std::ranges::copy(contents, gradient_->data);
    }
    given_.assign(called().values().begin(), called().values().end());
    called_at_ = base::now();
    say(fmt::format("is in {} of step {}", broadcasts_ ? "a broadcast" : "the call", step_));
    const auto handle = submit(request);
    client::RequestEnd end;
    end.room = room_;
    activity_.in_call = handle.has_value();
    const bool has_ended = handle && await(*handle, end);
    activity_.in_call = false;
    if (!has_ended) return;
    check_ended_once(*handle);
    ended(end);
    if (model_) model_->left.assign(model_->values().begin(), model_->values().end());
    if (gradient_) gradient_->left.assign(gradient_->values().begin(), gradient_->values().end());
}

std::optional<client::RequestHandle> ClientLife::submit(const daemon::Request& request) {
    client::Operation operation;
    const client::Slice slice{called().handle};
    operation.verb = request.verb;
    operation.op = request.op;
    operation.iteration = request.iteration;
    operation.slices = {&slice, 1};
    const base::TimePoint began = base::now();
    const uint64_t stops = port_.stops();
    const auto handle = session_->submit(operation);
    expect_within("a call", began, stops, kReconnects * connect_);
    if (handle) return *handle;
    refused(handle.error());
    return {};
}

// Returns false if the process is to leave, whatever comes of the call.
bool ClientLife::await(client::RequestHandle handle, client::RequestEnd& ret_end) {
    while (!port_.is_to_leave()) {
        if (port_.takes_cancel()) (void)session_->cancel(handle);
        const base::TimePoint began = base::now();
        const uint64_t stops = port_.stops();
        if (polls_) {
            pollfd watched{*session_->ready_fd(), POLLIN, 0};
            (void)base::wait_on({&watched, 1}, began + kWaits);
        }
        const auto told = polls_ ? session_->next(base::now(), &ret_end)
                                 : session_->wait(handle, began + kWaits, &ret_end,
                                                  client::Waiter{.by_signals = true});
        expect_within("waiting", began, stops, kWaits);
        if (told && *told) return true;
        if (!told) {
            ledger_.wrong(fmt::format("{}: cannot wait: {}", name_, told.error().message));
            return false;
        }
        activity_.last_error = session_->awaited(handle);
    }
    return false;
}

void ClientLife::check_ended_once(client::RequestHandle handle) {
    const auto again = session_->wait(handle, base::now(), nullptr);
    if (again || again.error().kind != ErrorKind::handle)
        ledger_.wrong(name_ + ": a request ended twice");
}

// Between calls nobody writes to the trainer's buffers but itself.
void ClientLife::check_untouched(Memory& memory) {
    if (!memory.left.empty() && !std::ranges::equal(memory.left, memory.values()))
        ledger_.wrong(name_ + ": something was written to its buffer between two calls");
    memory.left.clear();
}

void ClientLife::check_as_called(const char* what) {
    if (std::ranges::equal(given_, called().values())) return;
    ledger_.wrong(
        fmt::format("{}: step {}: {}, but its buffer is not as it was", name_, step_, what));
}

void ClientLife::ended(const client::RequestEnd& end) {
    ledger_.tell("{}: {} of step {} ended with {}, group {}, iteration {}, contents {} {}", name_,
                 broadcasts_ ? "broadcast" : "call", step_, static_cast<int>(end.entry.outcome),
                 end.entry.group, end.entry.iteration, static_cast<int>(end.contents),
                 end.message());
    ledger_.trace(static_cast<uint64_t>(base::now().time_since_epoch().count()));
    ledger_.trace((uint64_t{rank_} << 8U) | static_cast<uint8_t>(end.entry.outcome));
    switch (end.entry.outcome) {
        case Outcome::done:
            return done(end);
        case Outcome::stale:
            if (!port_.may_lose_places())
                ledger_.wrong(fmt::format("{}: was taken out: {}", name_, end.message()));
            broadcasts_ = true;
            return;
        case Outcome::aborted:
            check_as_called("it was aborted");
            return rest(microseconds(100));
        case Outcome::canceled:
            return rest(microseconds(100));
        case Outcome::failed:
            return failed(end);
    }
}

void ClientLife::done(const client::RequestEnd& end) {
    daemon::Ending ending;
    ending.iteration = end.entry.iteration;
    ending.group = end.entry.group;
    ending.rounds = end.entry.rounds;
    ending.initial_weight = end.entry.initial_weight;
    ending.slowest_clock = end.entry.slowest_clock;
    if (end.listed > 0 || end.verb == Verb::reduce)
        ending.members =
            std::make_shared<daemon::MemberList>(room_.begin(), room_.begin() + end.listed);
    has_result(ending, true);
}

// `is_told`: by a daemon. Otherwise only the buffer is known to be whole.
void ClientLife::has_result(const daemon::Ending& ending, bool is_told) {
    ledger_.count_call();
    if (broadcasts_)
        ledger_.begins_anew(name_);
    else if (is_told)
        ledger_.went_on(name_, called_at_);
    const std::span<const float> result = called().values();
    if (broadcasts_) {
        broadcasts_ = false;
        computes_ = true;
        rounds_ = ending.group + 1;
        std::ranges::copy(result, program_->model().begin());
        program_->took_model(self(), ending, ledger_);
        step_ = program_->step_after(ending.iteration);
        return;
    }
    const Verb verb = program_->next(step_).verb;
    if (verb == Verb::reduce) rounds_ = ending.group + 1;
    if (is_on_model_) std::ranges::copy(result, program_->model().begin());
    step_ = program_->ended(self(), step_, ending, result, ledger_);
    port_.has_made_step();
    computes_ = verb != Verb::push;
}

void ClientLife::failed(const client::RequestEnd& end) {
    activity_.last_error = end.message();
    const auto kind = client::kind_of(end.entry.error_kind);
    const bool lacks_root = broadcasts_ && kind == ErrorKind::invalid;  // for a while
    if (kind == ErrorKind::unavailable) return gone(end);
    if (kind == ErrorKind::no_controller || lacks_root) {
        broadcasts_ = true;
        return rest(milliseconds(20));
    }
    // No worker can give it the model: it goes on with its own.
    if (broadcasts_ && kind == ErrorKind::not_found) {
        ledger_.keeps_parameters(name_);
        broadcasts_ = false;
        return;
    }
    if (kind != ErrorKind::closed && !ledger_.may_differ(kind))
        ledger_.wrong(fmt::format("{}: a call failed: {}", name_, end.message()));
    begin();
}

// The daemon died during the call. The program goes by what libpace says of the buffer. Some
// programs ask for the model anew nevertheless.
void ClientLife::gone(const client::RequestEnd& end) {
    const bool takes_model = program_->takes_model_anew() && random_.below(2) == 0;
    if (end.contents == WriteState::untouched) check_as_called("it says that nothing was written");
    if (end.contents == WriteState::whole && !broadcasts_) {
        const auto verb = program_->next(step_).verb;
        program_->check_whole(self(), step_, called().values(), ledger_);
        const bool is_round = verb == Verb::reduce && !protocol::is_partial(job_);
        if (is_round || verb == Verb::average) {
            daemon::Ending ending;
            ending.iteration = step_;
            ending.group = is_round ? rounds_ : 0;
            ending.rounds = 1;
            return has_result(ending, false);
        }
    }
    const bool is_torn = end.contents != WriteState::untouched && !broadcasts_;
    if (takes_model || (is_torn && program_->takes_model_anew())) broadcasts_ = true;
}

}  // namespace pace::world
