// Client, requests: a seated trainer's buffers and requests.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/attempt.h"
#include "daemon/clients/buffer_request.h"
#include "daemon/clients/client.h"
#include "daemon/clients/submission.h"

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
// Up to this size, memory is made in the loop, which takes a tenth of a millisecond.
constexpr uint64_t kMemoryAtOnceMax = uint64_t{256} << 10U;
// Notes and requests held behind an earlier request's stream. A guess: some notes for each request
// that may be in flight.
constexpr size_t kHeldMax = size_t{4} * protocol::kRingSlots;

std::span<const std::byte> bytes_of(const flatbuffers::Vector<uint8_t>* vector) {
    if (vector == nullptr) return {};
    return std::as_bytes(std::span(vector->data(), vector->size()));
}

}  // namespace

// --------------------------------------------------------------------------------------- buffers

Result<> Client::on_buffer_create(const fb::BufferCreate& create,
                                  std::vector<base::UniqueFd>& fds) {
    if (!seat_) return base::make_error(ErrorKind::corrupt, "a buffer before a job was joined");
    if (making_.contains(create.request()))
        return base::make_error(ErrorKind::corrupt, "request {} a second time", create.request());
    const auto begun = make_buffer(create, fds);
    return begun ? begun : send_failed(create.request(), begun.error());
}

Result<> Client::make_buffer(const fb::BufferCreate& create, std::vector<base::UniqueFd>& fds) {
    auto memory = std::make_shared<NewMemory>();
    memory->request = create.request();
    PACE_TRY_ASSIGN(wanted, check_buffer(create));
    if (fds.size() != wanted.descriptors())
        return base::make_error(
            ErrorKind::corrupt, "a buffer that is {} came with {} descriptors, not {}",
            wanted.adopt ? "to be adopted" : "new", fds.size(), wanted.descriptors());
    if (!wanted.device.empty()) {
        PACE_TRY(check_apart());
        PACE_TRY_ASSIGN(found, staging_.find(wanted.device));
        memory->device = found;
    }
    memory->charge = charge_for(wanted.bytes(), memory->device != nullptr);
    PACE_TRY(quota_.charge_buffer(memory->charge));
    const BufferPtr kept =
        wanted.adopt || wanted.temporary
            ? nullptr
            : context_.engine.inherit(*seat_, wanted.dtype, wanted.count, memory->device);
    if (kept) return answer_with(memory->request, kept, true);
    auto paid = context_.engine.charge_buffer(process_.uid, memory->charge,
                                              memory->device != nullptr ? 2 : 1);
    if (!paid) {
        quota_.release_buffer(memory->charge);
        return paid.error();
    }
    memory->paid = std::move(*paid);
    const bool takes_long = wanted.bytes() > kMemoryAtOnceMax || memory->device != nullptr;
    memory->wanted = std::move(wanted);
    if (!fds.empty()) memory->fd = std::move(fds.front());
    if (!takes_long) {
        while (make_piece(*memory)) {
        }
        finish_memory(*memory);
        return memory_made(*memory);
    }
    making_[memory->request] = memory;
    make_aside(memory);
    return {};
}

// The client may be gone before the memory is made, and the devices soon after. So nothing that is
// left in the loop holds the memory.
void Client::make_aside(const std::shared_ptr<NewMemory>& memory) {
    const auto made = scope_.bind([this, request = memory->request] {
        const auto taken = making_.extract(request);
        if (taken.empty() || closing_ || !seat_) return;
        if (const auto sent = memory_made(*taken.mapped()); !sent) refuse(sent.error());
    });
    // scope_.bind below skips a client that is gone.
    const auto piece = [memory, made, post = context_.loop.poster()](bool& ret_more) {
        bool more = false;
        const bool had_memory = base::attempt([&] {
            more = make_piece(*memory);
            if (!more) finish_memory(*memory);
        });
        if (!had_memory) memory->buffer = base::out_of_memory();
        ret_more = had_memory && more;
        if (!ret_more) post(made);
    };
    context_.maker.run(reinterpret_cast<uintptr_t>(this), [piece = scope_.bind(piece)] {
        bool more = false;
        piece(more);
        return more;
    });
}

Result<> Client::memory_made(NewMemory& made) {
    if (made.buffer) return answer_with(made.request, *made.buffer, false);
    quota_.release_buffer(made.charge);
    return send_failed(made.request, made.buffer.error());
}

Result<> Client::answer_with(uint64_t request, const BufferPtr& buffer, bool restored) {
    const BufferTable::Handle handle = buffers_.add(buffer);
    // GPU memory without a descriptor is named by its handle.
    const auto& on_device = buffer->on_device;
    std::vector<int> reply_fds{on_device ? on_device->memory.fd() : buffer->memory.fd()};
    if (reply_fds.front() < 0) reply_fds.clear();
    const size_t mapped = on_device ? on_device->memory.size() : buffer->memory.size();
    return send_body(
        socket_->get(),
        [&](flatbuffers::FlatBufferBuilder& b) {
            flatbuffers::Offset<flatbuffers::Vector<uint8_t>> named;
            if (reply_fds.empty())
                named =
                    b.CreateVector(reinterpret_cast<const uint8_t*>(&on_device->memory.handle()),
                                   sizeof(on_device->memory.handle()));
            const auto created = fb::CreateBufferCreated(
                b, request, handle.index, handle.generation, mapped, restored, named);
            return std::pair(fb::Body::BufferCreated, created.Union());
        },
        reply_fds);
}

// The driver shares events only between processes.
Result<> Client::check_apart() const {
    if (process_.pid != getpid()) return {};
    return base::make_error(
        ErrorKind::invalid,
        "a daemon inside the trainer's own process (embedded:) has no buffers on "
        "GPUs; start paced and open the session with its socket");
}

Result<> Client::on_device_share(const fb::DeviceShare& share) {
    if (!seat_) return base::make_error(ErrorKind::corrupt, "events before a job was joined");
    if (const auto apart = check_apart(); !apart)
        return send_failed(share.request(), apart.error());
    const auto ours = staging_.share(bytes_of(share.device()), bytes_of(share.events()));
    if (!ours) return send_failed(share.request(), ours.error());
    return send_body(socket_->get(), [&](flatbuffers::FlatBufferBuilder& b) {
        const auto events =
            b.CreateVector(reinterpret_cast<const uint8_t*>(ours->data()), ours->size());
        const auto shared = fb::CreateDeviceShared(b, share.request(), events);
        return std::pair(fb::Body::DeviceShared, shared.Union());
    });
}

Result<> Client::on_buffer_free(const fb::BufferFree& free) {
    auto buffer = buffers_.remove(free.buffer());
    if (!buffer) return send_failed(free.request(), buffer.error());
    quota_.release_buffer((*buffer)->charged());
    return send_done(free.request());
}

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
// has reached its event.
void Client::stage(Held& held, uint32_t event) {
    Request& request = *held.request;
    held.landed = staging_.begin(
        request, event,
        scope_.bind([this, id = request.id](const Result<>& result) { came(id, result); }));
    held.ready = !held.landed;
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
