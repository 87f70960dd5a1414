// Client, memory: a seated trainer's buffers, and the order of its streams.
#include <unistd.h>

#include <utility>

#include "base/attempt.h"
#include "daemon/clients/buffer_request.h"
#include "daemon/clients/client.h"
#include "daemon/gpu/host_twin.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
namespace fb = protocol::client;

namespace {

// Up to this size, memory is made in the loop, which takes a tenth of a millisecond.
constexpr uint64_t kMemoryAtOnceMax = uint64_t{256} << 10U;

std::span<const std::byte> bytes_of(const flatbuffers::Vector<uint8_t>* vector) {
    if (vector == nullptr) return {};
    return std::as_bytes(std::span(vector->data(), vector->size()));
}

}  // namespace

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
    const size_t expected = blocks_.knows(wanted.block) ? 0 : wanted.descriptors();
    if (fds.size() != expected)
        return base::make_error(ErrorKind::corrupt,
                                "a buffer that is {} came with {} descriptors, not {}",
                                wanted.adopt ? "to be adopted" : "new", fds.size(), expected);
    if (!wanted.device.empty()) {
        PACE_TRY_ASSIGN(found, staging_.find(wanted.device));
        PACE_TRY(check_apart(wanted, *found));
        memory->device = found;
    }
    if (const BufferPtr kept = inherit(wanted, memory->device))
        return answer_with(memory->request, kept, true);
    memory->wanted = std::move(wanted);
    PACE_TRY(place(*memory));
    if (auto paid = pay_for(*memory); !paid) {
        give_up(*memory);
        return paid;
    }
    if (!fds.empty()) memory->fd = std::move(fds.front());
    const bool takes_long = memory->wanted.bytes() > kMemoryAtOnceMax || memory->device != nullptr;
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

// Buffers in blocks only for clients that understand them: others map whole allocations.
BufferPtr Client::inherit(const BufferRequest& wanted, const device::Device* device) {
    if (wanted.adopt || wanted.temporary) return nullptr;
    const auto charge_of = [this](const Buffer& kept) {
        const bool brings_block = kept.block() != nullptr && !blocks_.has_block_of(kept);
        return kept.charged() +
               (brings_block ? charge_for(kept.block()->memory().size(), true) : 0);
    };
    BufferPtr kept = context_.engine.inherit(
        *seat_, wanted.dtype, wanted.count, device, [&](const Buffer& other) {
            return (other.block() == nullptr || wanted.takes_place) &&
                   quota_.has_room(charge_of(other));
        });
    if (!kept) return nullptr;
    const uint64_t charge = charge_of(*kept);
    [[maybe_unused]] const auto charged = quota_.charge_buffer(charge);  // there is room
    if (kept->block() != nullptr) blocks_.add_inherited(*kept, charge);
    return kept;
}

// Finds a place in a block that the session has, for a buffer that may have one.
Result<> Client::place(NewMemory& memory) {
    const BufferRequest& wanted = memory.wanted;
    if (blocks_.knows(wanted.block)) {
        memory.placed =
            blocks_.place_at(wanted.block, *memory.device, wanted.offset, wanted.bytes());
        return memory.placed ? Result<>() : place_error(wanted);
    }
    if (memory.device != nullptr && wanted.is_for_block(*memory.device))
        memory.placed = blocks_.place(*memory.device, wanted.bytes());
    return {};
}

// A block is paid for once, by itself.
Result<> Client::pay_for(NewMemory& memory) {
    const BufferRequest& wanted = memory.wanted;
    const bool on_device = memory.device != nullptr;
    const bool in_block =
        memory.placed || wanted.block != 0 || (on_device && wanted.is_for_block(*memory.device));
    const uint64_t own = in_block ? 0 : charge_for(wanted.bytes(), on_device);
    uint64_t block = 0;
    if (in_block && !memory.placed)
        block = charge_for(wanted.block != 0 ? wanted.block_bytes : 1, true);
    PACE_TRY(quota_.charge_buffer(own + block));
    memory.charged = own + block;
    // The twin on the host is a descriptor, too.
    const uint32_t descriptors = on_device && !in_block ? 2 : 1;
    PACE_TRY_ASSIGN(paid,
                    context_.engine.charge_buffer(
                        process_.uid, {.bytes = own, .buffers = 1, .descriptors = descriptors}));
    memory.paid = std::move(paid);
    if (block == 0) return {};
    PACE_TRY_ASSIGN(block_paid, context_.engine.charge_buffer(process_.uid,
                                                              {.bytes = block, .descriptors = 1}));
    memory.block_paid = std::make_shared<const Charge>(std::move(block_paid));
    return {};
}

// The client may be gone before the memory is made, and the devices soon after. So nothing that is
// left in the loop holds the memory.
template <typename Made>
std::function<void()> Client::when_made(std::map<uint64_t, std::shared_ptr<Made>>& making,
                                        uint64_t request, Result<> (Client::*answer)(Made&)) {
    return scope_.bind([this, &making, request, answer] {
        const auto taken = making.extract(request);
        if (taken.empty() || closing_ || !seat_) return;
        if (const auto sent = (this->*answer)(*taken.mapped()); !sent) refuse(sent.error());
    });
}

void Client::make_aside(const std::shared_ptr<NewMemory>& memory) {
    const auto piece = [memory] {
        const bool more = make_piece(*memory);
        if (!more) finish_memory(*memory);
        return more;
    };
    do_aside(
        piece, [memory] { memory->buffer = base::out_of_memory(); },
        when_made(making_, memory->request, &Client::memory_made));
}

// The twins on the host of a request's buffers.
void Client::make_twins_aside(const Held& held) {
    const auto maker = std::make_shared<TwinMaker>(held.request->contents->buffers);
    const auto failed = std::make_shared<bool>(false);
    const auto made = scope_.bind([this, id = held.request->id, maker, failed] {
        twins_made(id, *failed ? Result<>(base::out_of_memory()) : maker->made());
    });
    do_aside([maker] { return maker->make_piece(); }, [failed] { *failed = true; }, made);
}

// Does the pieces in the thread that makes memory, unless this client has gone. The loop calls
// `made` after the last piece. `no_memory` is called in the thread, before, if a piece finds none.
void Client::do_aside(std::function<bool()> piece, std::function<void()> no_memory,
                      std::function<void()> made) {
    const auto bound =
        scope_.bind([piece = std::move(piece), no_memory = std::move(no_memory),
                     made = std::move(made), post = context_.loop.poster()](bool& ret_more) {
            if (!base::attempt([&] { ret_more = piece(); })) {
                no_memory();
                ret_more = false;
            }
            if (!ret_more) post(made);
        });
    context_.maker.run(reinterpret_cast<uintptr_t>(this), [bound] {
        bool more = false;
        bound(more);
        return more;
    });
}

Result<> Client::memory_made(NewMemory& made) {
    if (made.buffer && blocks_.knows(made.wanted.block) && !made.placed)
        made.buffer =
            base::make_error(ErrorKind::corrupt, "block {} a second time", made.wanted.block);
    if (!made.buffer) {
        give_up(made);
        return send_failed(made.request, made.buffer.error());
    }
    const Buffer& buffer = **made.buffer;
    if (made.block_paid && made.wanted.block != 0)
        blocks_.add_adopted(buffer, *made.charged, made.wanted.block);
    else if (made.block_paid)
        blocks_.add_made(buffer, *made.charged);
    return answer_with(made.request, *made.buffer, false);
}

// No buffer comes of the memory.
void Client::give_up(NewMemory& memory) {
    const uint64_t block = memory.placed ? blocks_.remove(*memory.placed) : 0;
    if (memory.charged) quota_.release_buffer(*memory.charged + block);
}

Result<> Client::answer_with(uint64_t request, const BufferPtr& buffer, bool restored) {
    const BufferTable::Handle handle = buffers_.add(buffer);
    const SessionBlocks::Name place = blocks_.name(*buffer);
    // GPU memory without a descriptor is named by its handle.
    const auto& on_device = buffer->on_device;
    const int own_fd = on_device ? on_device->memory.fd() : buffer->memory.fd();
    const int fd = place.number != 0 ? place.fd : own_fd;
    std::vector<int> reply_fds;
    if (fd >= 0) reply_fds.push_back(fd);
    size_t mapped = on_device ? on_device->memory.size() : buffer->memory.size();
    if (place.number != 0) mapped = place.block_bytes;
    return send_body(
        socket_->get(),
        [&](flatbuffers::FlatBufferBuilder& b) {
            flatbuffers::Offset<flatbuffers::Vector<uint8_t>> named;
            if (reply_fds.empty() && place.number == 0)
                named =
                    b.CreateVector(reinterpret_cast<const uint8_t*>(&on_device->memory.handle()),
                                   sizeof(on_device->memory.handle()));
            const auto created =
                fb::CreateBufferCreated(b, request, handle.index, handle.generation, mapped,
                                        restored, named, place.number, place.offset);
            return std::pair(fb::Body::BufferCreated, created.Union());
        },
        reply_fds);
}

Result<> Client::on_buffer_free(const fb::BufferFree& free) {
    auto removed = buffers_.remove(free.buffer());
    if (!removed) return send_failed(free.request(), removed.error());
    Buffer& buffer = **removed;
    if (buffer.on_device && free.keeps_place()) buffer.on_device->memory.keep_place();
    quota_.release_buffer(buffer.charged() + blocks_.remove(buffer));
    return send_done(free.request());
}

// ----------------------------------------------------------------------------- order of streams

// The driver shares events, and memory by handles, only between processes.
Result<> Client::check_apart() const {
    if (process_.pid != getpid()) return {};
    return base::make_error(
        ErrorKind::invalid,
        "a daemon inside the trainer's own process (embedded:) needs a GPU that exports its memory "
        "by descriptors, and a driver with words for streams (CUDA 11.7); start paced and open the "
        "session with its socket");
}

Result<> Client::check_apart(const BufferRequest& wanted, const device::Device& device) const {
    if (device.facts().exports_descriptors && !wanted.handle) return {};
    return check_apart();
}

// Words come as a descriptor, events in the message.
Result<> Client::on_device_share(const fb::DeviceShare& share, std::vector<base::UniqueFd>& fds) {
    if (!seat_) return base::make_error(ErrorKind::corrupt, "streams before a job was joined");
    if (fds.size() > 1)
        return base::make_error(ErrorKind::corrupt, "{} descriptors of words", fds.size());
    if (making_order_.contains(share.request()))
        return base::make_error(ErrorKind::corrupt, "request {} a second time", share.request());
    auto request = std::make_shared<OrderRequest>();
    request->request = share.request();
    if (fds.empty()) {
        if (const auto apart = check_apart(); !apart)
            return send_failed(share.request(), apart.error());
        auto events = events_of(share);
        if (!events) return send_failed(share.request(), events.error());
        request->events = std::move(*events);
    } else {
        request->words = std::move(fds.front());
    }
    const auto device = staging_.begin_sharing(bytes_of(share.device()));
    if (!device) return send_failed(share.request(), device.error());
    request->device = *device;
    making_order_[request->request] = request;
    make_order_aside(request);
    return {};
}

void Client::make_order_aside(const std::shared_ptr<OrderRequest>& request) {
    const auto piece = [request] {
        make_order(*request);
        return false;
    };
    do_aside(
        piece, [request] { request->order = base::out_of_memory(); },
        when_made(making_order_, request->request, &Client::order_made));
}

Result<> Client::order_made(OrderRequest& made) {
    const auto shared = staging_.end_sharing(*made.device, made.order);
    if (!shared) return send_failed(made.request, shared.error());
    return send_shared(made.request, std::as_bytes(std::span(made.our_events)));
}

Result<> Client::send_shared(uint64_t request, std::span<const std::byte> events) {
    return send_body(socket_->get(), [&](flatbuffers::FlatBufferBuilder& b) {
        const auto named =
            b.CreateVector(reinterpret_cast<const uint8_t*>(events.data()), events.size());
        const auto shared = fb::CreateDeviceShared(b, request, named);
        return std::pair(fb::Body::DeviceShared, shared.Union());
    });
}

}  // namespace pace::daemon
