// ClientLife: its session and its memory. Its calls are in client_calls.cpp.
#include "tests/world/clients/client_life.h"

#include <algorithm>
#include <utility>

#include "base/simulation/simulated_process.h"
#include "tests/world/clockwork.h"

namespace pace::world {

using base::ErrorKind;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

constexpr size_t kMembersMax = 128;
constexpr auto kAveraging = protocol::Family::averaging;
// How long after its deadline a call may return. Nothing takes time here but the world's rounds.
constexpr base::Duration kLateness = milliseconds(20);

}  // namespace

ClientLife::ClientLife(ClientLifePort& port, Ledger& ledger, ClientActivity& activity,
                       const protocol::JobOptions& job, uint32_t rank, std::string name,
                       const std::string& socket, uint64_t seed)
    : port_(port),
      ledger_(ledger),
      activity_(activity),
      job_(job),
      rank_(rank),
      name_(std::move(name)),
      endpoint_{client::EndpointKind::unix_socket, socket},
      random_(seed),
      step_takes_(uniform_of(random_, microseconds(500), milliseconds(12))),
      connect_(uniform_of(random_, milliseconds(1000), milliseconds(6000))),
      is_staged_(random_.below(3) == 0),
      polls_(random_.below(4) == 0),
      room_(kMembersMax) {
    begin();
}

// As a new process would.
void ClientLife::begin() {
    session_.reset();
    model_.reset();
    gradient_.reset();
    broadcasts_ = true;
    computes_ = false;
    step_ = rounds_ = 0;
    program_ = program_of(job_);
    program_->begin(self());
}

Self ClientLife::self() const {
    uint64_t run = 0;
    if (session_) {
        const auto info = session_->info();
        if (info) run = info->began;
    }
    return {job_, rank_, run, name_};
}

void ClientLife::run() {
    rest(uniform_of(random_, {}, milliseconds(30)));
    while (!port_.is_to_leave()) {
        if (!session_)
            open();
        else if (make_memory())
            computes_ ? compute() : call();
    }
    if (session_) leave();
}

void ClientLife::rest(base::Duration length) {
    (void)base::wait_on({}, base::now() + length);
}

void ClientLife::say(std::string text) {
    activity_.text = std::move(text);
    activity_.since = base::now();
}

void ClientLife::expect_within(const char* what, base::TimePoint began, uint64_t stops,
                               base::Duration within) {
    const base::Duration took = base::now() - began;
    if (stops != port_.stops() || took <= within + kLateness) return;
    ledger_.wrong(fmt::format("{}: {} took {:.3f} s, not at most {:.3f} s", name_, what,
                              base::to_seconds(took), base::to_seconds(within)));
}

void ClientLife::open() {
    say("opens a session");
    const base::TimePoint began = base::now();
    const uint64_t stops = port_.stops();
    auto opened = client::Session::open(endpoint_, job_, rank_, connect_, {}, true);
    expect_within("opening", began, stops, connect_);
    if (!opened) return refused(opened.error());
    session_ = std::move(*opened);
    if (polls_ && !session_->ready_fd()) ledger_.wrong(name_ + ": has no descriptor to poll");
}

// A call other than a request has failed.
void ClientLife::refused(const base::Error& error) {
    activity_.last_error = error.message;
    ledger_.tell("{}: {}: {}", name_, activity_.text, error.message);
    switch (error.kind) {
        case ErrorKind::interrupted:
            return;
        // The run that it was in is over, or nobody knows it: a new process takes its place.
        case ErrorKind::closed:
            return begin();
        case ErrorKind::invalid:
        case ErrorKind::handle:
        case ErrorKind::corrupt:
        case ErrorKind::internal:
            ledger_.wrong(fmt::format("{}: {} failed: {}", name_, activity_.text, error.message));
            [[fallthrough]];
        default:
            return rest(uniform_of(random_, milliseconds(20), milliseconds(100)));
    }
}

// Whether all memory is there for the next call.
bool ClientLife::make_memory() {
    // A newcomer gets what the daemon sees of the model. The daemon sees staged memory as it was in
    // the last call that named it, so only a model that every call names may be staged.
    const size_t given = program_->contents(self(), step_).size();
    const bool stages_model = is_staged_ && protocol::family_of(job_.policy) == kAveraging;
    if (!model_ && !make(model_, program_->model().size(), stages_model)) return false;
    return broadcasts_ || given == 0 || gradient_ || make(gradient_, given, is_staged_);
}

bool ClientLife::make(std::optional<Memory>& memory, size_t count, bool is_staged) {
    say("makes a buffer");
    Memory made;
    made.count = count;
    client::Imported imported;
    if (is_staged) {
        made.own.assign(count, 0);
        imported.pointer = reinterpret_cast<std::byte*>(made.own.data());
    }
    const base::TimePoint began = base::now();
    const uint64_t stops = port_.stops();
    const auto created = session_->create_buffer(protocol::DType::f32, count, 0, imported);
    expect_within("making a buffer", began, stops, 2 * connect_ + std::chrono::seconds(10));
    if (!created) {
        refused(created.error());
        return false;
    }
    made.handle = created->handle;
    made.data = static_cast<float*>(created->data);
    memory = std::move(made);
    return true;
}

// The buffer is made anew for the next call.
void ClientLife::free_gradient() {
    say("frees a buffer");
    const auto freed = random_.below(2) == 0 ? session_->free_buffer(gradient_->handle)
                                             : session_->release_buffer(gradient_->handle);
    if (!freed && freed.error().kind != ErrorKind::unavailable)
        ledger_.wrong(fmt::format("{}: freeing failed: {}", name_, freed.error().message));
    if (freed) gradient_.reset();
}

void ClientLife::compute() {
    say(fmt::format("computes step {}", step_));
    computes_ = false;
    if (gradient_ && random_.below(32) == 0) free_gradient();
    rest(step_takes_ + uniform_of(random_, {}, step_takes_ / 2));
}

void ClientLife::leave() {
    say("leaves");
    const base::TimePoint began = base::now();
    const uint64_t stops = port_.stops();
    const base::Duration within = std::chrono::seconds(2);
    const auto left = session_->leave(began + within);
    expect_within("leaving", began, stops, within);
    // The ring is corrupt where a faulty program has written to it.
    if (!left && left.error().kind != ErrorKind::unavailable &&
        left.error().kind != ErrorKind::corrupt)
        ledger_.wrong(fmt::format("{}: could not leave: {}", name_, left.error().message));
}

}  // namespace pace::world
