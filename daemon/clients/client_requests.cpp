// Client, requests: a seated trainer's requests.
#include <algorithm>
#include <utility>

#include "base/attempt.h"
#include "daemon/clients/buffer_request.h"
#include "daemon/clients/client.h"
#include "daemon/clients/submission.h"
#include "daemon/gpu/host_twin.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
namespace fb = protocol::client;

namespace {

// Submissions taken from one client in one turn.
constexpr int kSubmissionsPerTurn = 16;
// Ends a client's turn early, so that other clients wait little longer than this. A guess: some
// short sums.
constexpr base::Duration kTurnMax = std::chrono::milliseconds(2);
// Notes and requests held behind an earlier request's stream. A guess: some notes for each request
// that may be in flight.
constexpr size_t kHeldMax = size_t{4} * protocol::kRingSlots;

}  // namespace

// -------------------------------------------------------------------------------------- requests

bool Client::poll_ring() {
    bool worked = false;
    if (!base::attempt([&] { worked = take_submissions(); })) refuse(base::out_of_memory());
    return worked;
}

bool Client::take_submissions() {
    if (!ring_ || closing_ || !seat_) return false;
    bool worked = false;
    const base::TimePoint began = base::now();
    for (int i = 0; i < kSubmissionsPerTurn && (i == 0 || base::now() - began < kTurnMax); ++i) {
        protocol::SubmissionEntry entry;
        const auto taken = ring_->take(entry);
        if (!taken) {
            refuse(taken.error());
            return true;
        }
        if (!*taken) {
            cancel_late();
            break;
        }
        worked = true;
        submit(entry);
        if (closing_) break;
    }
    return worked;
}

void Client::submit(const protocol::SubmissionEntry& entry) {
    if (protocol::is_note(entry.verb)) {
        if (held_.size() >= kHeldMax) {
            refuse(base::make_error(ErrorKind::limit,
                                    "more than {} notes and requests behind one whose stream has "
                                    "not come",
                                    kHeldMax));
            return;
        }
        held_.push_back({{entry.verb, entry.id, entry.iteration}, std::nullopt});
        hand_on();
        return;
    }
    if (in_flight_.size() >= ring_->layout().slots) {
        refuse(base::make_error(ErrorKind::limit, "more than {} requests in flight",
                                ring_->layout().slots));
        return;
    }
    // Ends and cancellations refer to a request by its id, so ids in flight are unique.
    if (std::find(in_flight_.begin(), in_flight_.end(), entry.id) != in_flight_.end()) {
        refuse(base::make_error(ErrorKind::corrupt,
                                "request {} while one of that number is in flight", entry.id));
        return;
    }
    in_flight_.push_back(entry.id);
    if (entry.ends_on_host != 0) on_host_.insert(entry.id);
    auto request = check_submission(entry, buffers_);
    if (!request) {
        staging_.end_unbegun(entry.id, entry.event);
        request_ended(entry.id, failed(request.error()));
        return;
    }
    request->mark = ring_->mark(request->id);
    const bool stages = DeviceStaging::concerns(*request);
    held_.push_back({{}, std::move(*request), !stages});
    if (stages) stage(held_.back(), entry.event);
    hand_on();
}

// The request's buffers are on a GPU. The engine gets the request only when the trainer's stream
// has made the data.
void Client::stage(Held& held, uint32_t event) {
    Request& request = *held.request;
    held.landed = staging_.begin(
        request, event,
        scope_.bind([this, id = request.id](const Result<>& result) { came(id, result); }));
    held.ready = !held.landed;
    if (held.ready) staging_.end_unbegun(request.id, event);
}

// Buffers that are summed on the GPU may stay there; others are copied to the host first. Buffers
// that are only written wait as well: the previous call's result is copied from the same twins.
void Client::came(uint64_t id, const Result<>& result) {
    Held* const held = find_held(id);
    if (held == nullptr || !seat_) return;  // canceled meanwhile
    const Request& request = *held->request;
    const Result<> taken = result ? staging_.take_given(request) : result;
    if (!taken || Engine::sums_on_device(*seat_, request)) {
        landed(id, taken);
        return;
    }
    if (have_twins(request.contents->buffers))
        bring(*held);
    else
        make_twins_aside(*held);
}

// Brings the contents to the host, where they are read.
void Client::bring(const Held& held) {
    const Request& request = *held.request;
    const uint64_t id = request.id;
    const bool reads =
        protocol::reads_buffers(request.verb) &&
        (request.verb != protocol::Verb::broadcast || request.root == seat_->worker->rank);
    const auto landing = scope_.bind([this, id](const Result<>& ended) { landed(id, ended); });
    if (reads) {
        request.contents->bring(landing);
        return;
    }
    request.contents->on_host = true;
    request.contents->lane->when_done(request.buffers, landing);
}

Client::Held* Client::find_held(uint64_t id) {
    const auto held = std::find_if(held_.begin(), held_.end(), [id](const Held& other) {
        return other.request && other.request->id == id;
    });
    return held == held_.end() ? nullptr : &*held;
}

void Client::landed(uint64_t id, const Result<>& result) {
    Held* const held = find_held(id);
    if (held == nullptr) return;  // canceled meanwhile
    held->ready = true;
    held->landed = result;
    hand_on();
}

void Client::twins_made(uint64_t id, const Result<>& made) {
    Held* const held = find_held(id);
    if (held == nullptr || !seat_) return;  // canceled meanwhile
    if (made)
        bring(*held);
    else
        landed(id, made);
}

// Hands on in the order of submission: a ready request waits for those before it.
void Client::hand_on() {
    while (!held_.empty() && held_.front().ready && seat_ && !closing_) {
        Held held = std::move(held_.front());
        held_.pop_front();
        if (!held.request) {
            Engine::note(*seat_, held.note);
        } else if (!held.landed) {
            request_ended(held.request->id, failed(held.landed.error()));
        } else {
            context_.engine.submit(*seat_, std::move(*held.request));
        }
    }
}

// Cancels a request that the engine has not got yet.
bool Client::cancel_held(uint64_t id) {
    Held* const held = find_held(id);
    if (held == nullptr) return false;
    std::erase_if(held_, [held](const Held& other) { return &other == held; });
    request_ended(id, ended_as(protocol::Outcome::canceled, "canceled before it had begun"));
    hand_on();
    return true;
}

void Client::request_ended(uint64_t id, const Ending& ending) {
    const bool is_done = ending.outcome == protocol::Outcome::done;
    const auto lane = staging_.end(id, is_done);
    const bool is_awaited = on_host_.erase(id) != 0 || !is_done;
    if (!lane) return complete(id, failed(lane.error()));
    if (*lane == nullptr) return complete(id, ending);
    if (is_awaited) {
        (*lane)->when_done({}, scope_.bind([this, id, ending, is_done](const Result<>& came) {
            complete(id, came || !is_done ? ending : failed(came.error()));
        }));
        return;
    }
    Ending queued = ending;
    queued.on_device = true;
    complete(id, queued);
}

void Client::complete(uint64_t id, const Ending& ending) {
    std::erase(in_flight_, id);
    if (seat_)
        context_.engine.record({.kind = RecordKind::call_ends,
                                .detail = static_cast<uint8_t>(ending.outcome),
                                .number = id,
                                .amount = ending.bytes_sent},
                               *seat_);
    if (ring_) ring_->complete(id, ending);
}

bool Client::arm_ring() {
    return !ring_ || closing_ || ring_->arm();
}

void Client::disarm_ring() {
    if (ring_) ring_->disarm();
}

// The socket and the ring are not ordered relative to each other: the request may still be in the
// ring. So it is canceled once the ring is empty.
base::Result<> Client::on_cancel(const fb::Cancel& cancel) {
    if (!ring_) return {};
    if (cancels_.size() >= ring_->layout().slots)
        return base::make_error(ErrorKind::limit, "more than {} requests canceled at once",
                                ring_->layout().slots);
    cancels_.push_back(cancel.id());
    poll_ring();
    return {};
}

void Client::cancel_late() {
    for (const uint64_t id : std::exchange(cancels_, {})) {
        if (!seat_ || closing_) return;
        if (!cancel_held(id)) context_.engine.cancel(*seat_, id);
    }
}

}  // namespace pace::daemon
