#include "libclient/connection/connection.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/simulation/simulated_process.h"
#include "libclient/link/call.h"
#include "protocol/option_codec.h"

namespace pace::client {

using base::Error;
using base::ErrorKind;
using base::make_error;
using base::Result;
using base::TimePoint;
using base::UniqueFd;

namespace {

constexpr uint64_t kJoinRequest = 1;
constexpr size_t kJoinedFds = 3;  // ring memfd, submission bell, completion bell

Result<> check_joined(const wire::Joined& joined, const AskedOptions& asked, uint32_t rank) {
    PACE_TRY_ASSIGN(job, protocol::read_job_options(*joined.options()));
    if (joined.rank() != rank || joined.world() != asked.world || job.policy != asked.policy)
        return make_error(ErrorKind::corrupt,
                          "the daemon joined rank {} of {} where rank {} of {} was asked",
                          joined.rank(), joined.world(), rank, asked.world);
    // A daemon that does not know an option would train in another way than was asked, without an
    // error.
    for (const protocol::OptionValue& option : asked.values) {
        const bool is_told = std::any_of(
            job.values.begin(), job.values.end(),
            [&](const protocol::OptionValue& told) { return told.name == option.name; });
        if (!is_told && !option.hint)
            return make_error(ErrorKind::version,
                              "the daemon, or its controller, is older than the option {}; install "
                              "the same release everywhere, or leave it out",
                              option.name);
    }
    return {};
}

protocol::RingLayout layout_told(const wire::Joined& joined) {
    protocol::RingLayout told{joined.ring_slots(), joined.member_capacity(),
                              protocol::kRingStridesLeast};
    if (const auto* strides = joined.strides())
        told.strides = {strides->header(), strides->submission(), strides->completion(),
                        strides->mark(),   strides->wait(),       strides->member()};
    return told;
}

flatbuffers::Offset<flatbuffers::Vector<uint8_t>> vector_of(flatbuffers::FlatBufferBuilder& builder,
                                                            std::span<const std::byte> bytes) {
    return builder.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

std::span<const std::byte> bytes_of(const flatbuffers::Vector<uint8_t>* vector) {
    if (vector == nullptr) return {};
    return std::as_bytes(std::span(vector->data(), vector->size()));
}

wire::DType wire_type(protocol::DType type) {
    return static_cast<wire::DType>(type);
}

}  // namespace

Result<std::shared_ptr<Connection>> Connection::join(Greeting greeting, const AskedOptions& options,
                                                     const Introduction& who, TimePoint deadline,
                                                     bool interruptible) {
    flatbuffers::FlatBufferBuilder builder;
    const auto packed = protocol::write_job_options(builder, options);
    const auto run = builder.CreateString(who.run.id);
    finish_packet(builder,
                  wire::CreateJoin(builder, kJoinRequest, who.rank, packed, who.began != 0,
                                   who.iteration, who.rounds, run, who.began, who.run.rerun));
    PACE_TRY_ASSIGN(answer, call<wire::Joined>(greeting.link, builder, kJoinRequest, -1, deadline,
                                               interruptible)
                                .packet);
    const auto& joined = *answer.body<wire::Joined>();
    PACE_TRY(check_joined(joined, options, who.rank));
    std::vector<UniqueFd>& fds = answer.fds();
    if (fds.size() != kJoinedFds)
        return make_error(ErrorKind::corrupt, "the daemon sent {} descriptors with the rings",
                          fds.size());
    PACE_TRY_ASSIGN(ring, ClientRing::adopt(std::move(fds[0]), std::move(fds[1]), std::move(fds[2]),
                                            layout_told(joined), greeting.version));
    return std::shared_ptr<Connection>(
        new Connection(std::move(greeting), std::move(ring), joined));
}

Connection::Connection(Greeting greeting, ClientRing ring, const wire::Joined& joined)
    : link_(std::move(greeting.link)),
      ring_(std::move(ring)),
      facts_{std::move(greeting.node),
             greeting.generation,
             greeting.stream_words,
             greeting.blocks,
             joined.under_way(),
             joined.deserted(),
             printable(joined.run(), protocol::kNameBytesMax),
             joined.began()} {}

template <typename Expected>
Result<Packet> Connection::ask(const flatbuffers::FlatBufferBuilder& message, uint64_t request,
                               int fd, TimePoint deadline) {
    Answer answer = call<Expected>(link_, message, request, fd, deadline);
    if (!answer.intact) sever();
    return std::move(answer.packet);
}

Error Connection::severed(Error error) {
    sever();
    return error;
}

Result<NewBuffer> Connection::create_buffer(protocol::DType type, uint64_t count, HostMemory kind,
                                            TimePoint deadline) {
    const uint64_t request = next_request_++;
    flatbuffers::FlatBufferBuilder builder;
    finish_packet(builder, wire::CreateBufferCreate(builder, request, wire_type(type), count, false,
                                                    0, 0, 0, kind != HostMemory::inherited,
                                                    kind == HostMemory::copied));
    PACE_TRY_ASSIGN(answer, ask<wire::BufferCreated>(builder, request, -1, deadline));
    const auto& created = *answer.body<wire::BufferCreated>();
    const uint64_t bytes = count * size_of(type);
    if (answer.fds().size() != 1 || created.bytes() < bytes)
        return severed(make_error(ErrorKind::corrupt,
                                  "the daemon sent {} descriptors and {} bytes for a buffer of {}",
                                  answer.fds().size(), created.bytes(), bytes));
    auto memory = base::MappedMemfd::adopt(std::move(answer.fds()[0]), bytes);
    if (!memory) {
        // Memory that cannot be mapped here does not make the daemon untrustworthy, but the daemon
        // still has the buffer.
        (void)free_buffer(created.buffer(), deadline);
        return std::move(memory).error();
    }
    return NewBuffer{{created.buffer(), created.generation()},
                     std::move(*memory),
                     nullptr,
                     created.restored(),
                     kind};
}

Result<NewBuffer> Connection::create_buffer(protocol::DType type, uint64_t count, Gpu& gpu,
                                            TimePoint deadline) {
    const uint64_t request = next_request_++;
    flatbuffers::FlatBufferBuilder builder;
    const auto device = vector_of(builder, gpu.uuid());
    constexpr bool kTakesPlace = true;
    finish_packet(builder, wire::CreateBufferCreate(builder, request, wire_type(type), count, false,
                                                    device, 0, 0, false, false, kTakesPlace));
    PACE_TRY_ASSIGN(answer, ask<wire::BufferCreated>(builder, request, -1, deadline));
    const auto& created = *answer.body<wire::BufferCreated>();
    if (answer.fds().size() > 1 || created.bytes() < count * size_of(type))
        return severed(make_error(ErrorKind::corrupt,
                                  "the daemon sent {} descriptors and {} bytes for a buffer of {}",
                                  answer.fds().size(), created.bytes(), count * size_of(type)));
    auto memory = map_created(answer, gpu, count, type);
    if (!memory && created.block() != 0 && memory.error().kind == ErrorKind::corrupt)
        return severed(std::move(memory).error());
    if (!memory) {
        (void)free_buffer(created.buffer(), deadline);
        return std::move(memory).error();
    }
    return NewBuffer{
        {created.buffer(), created.generation()}, {}, std::move(*memory), created.restored()};
}

Result<std::unique_ptr<GpuMemory>> Connection::map_created(Packet& answer, Gpu& gpu, uint64_t count,
                                                           protocol::DType type) {
    const auto& created = *answer.body<wire::BufferCreated>();
    UniqueFd descriptor;
    if (!answer.fds().empty()) descriptor = std::move(answer.fds().front());
    if (created.block() != 0)
        return gpu.map(GpuPlace{created.block(), created.bytes(), created.offset()},
                       std::move(descriptor), count * size_of(type), size_of(type));
    if (descriptor.valid()) return gpu.map(std::move(descriptor), created.bytes());
    return gpu.map(bytes_of(created.handle()));
}

// Either side may lack words although it knows them: its driver does.
Result<std::shared_ptr<GpuOrder>> Connection::order_streams(const Gpu& gpu, TimePoint deadline) {
    if (facts_.takes_words) {
        auto order = order_by_words(gpu, deadline);
        if (order || is_gone()) return order;
    }
    return order_by_events(gpu, deadline);
}

Result<std::shared_ptr<GpuOrder>> Connection::order_by_words(const Gpu& gpu, TimePoint deadline) {
    PACE_TRY_ASSIGN(words, gpu.make_words(ring_.slots()));
    PACE_TRY(words->follow(socket()));
    const uint64_t request = next_request_++;
    flatbuffers::FlatBufferBuilder builder;
    const auto device = vector_of(builder, gpu.uuid());
    const auto none = vector_of(builder, {});
    finish_packet(builder, wire::CreateDeviceShare(builder, request, device, none));
    PACE_TRY(ask<wire::DeviceShared>(builder, request, words->fd(), deadline));
    return std::shared_ptr<GpuOrder>(std::move(words));
}

Result<std::shared_ptr<GpuOrder>> Connection::order_by_events(const Gpu& gpu, TimePoint deadline) {
    PACE_TRY_ASSIGN(ours, gpu.make_events(ring_.slots()));
    const uint64_t request = next_request_++;
    flatbuffers::FlatBufferBuilder builder;
    const auto device = vector_of(builder, gpu.uuid());
    const auto events = vector_of(builder, ours->handles());
    finish_packet(builder, wire::CreateDeviceShare(builder, request, device, events));
    PACE_TRY_ASSIGN(answer, ask<wire::DeviceShared>(builder, request, -1, deadline));
    PACE_TRY(ours->adopt(bytes_of(answer.body<wire::DeviceShared>()->events())));
    return std::shared_ptr<GpuOrder>(std::move(ours));
}

Result<DaemonBuffer> Connection::hand_buffer(protocol::DType type, uint64_t count, int memory,
                                             HostMemory kind, TimePoint deadline) {
    const uint64_t request = next_request_++;
    flatbuffers::FlatBufferBuilder builder;
    finish_packet(builder, wire::CreateBufferCreate(builder, request, wire_type(type), count, true,
                                                    0, 0, 0, kind != HostMemory::inherited,
                                                    kind == HostMemory::copied));
    return hand_over(builder, request, memory, deadline);
}

Result<DaemonBuffer> Connection::hand_buffer(protocol::DType type, uint64_t count,
                                             const GpuMemory& memory, TimePoint deadline) {
    const GpuPlace& place = memory.place();
    if (memory.is_in_block() && !facts_.takes_blocks)
        return make_error(
            ErrorKind::closed,
            "a small buffer lies in a block of GPU {} that the daemon, which is of an "
            "older release, cannot take over; open another session",
            memory.gpu().ordinal());
    const uint64_t request = next_request_++;
    flatbuffers::FlatBufferBuilder builder;
    const auto device = vector_of(builder, memory.gpu().uuid());
    const auto handle = vector_of(builder, memory.handle());
    finish_packet(builder,
                  wire::CreateBufferCreate(builder, request, wire_type(type), count, true, device,
                                           handle, memory.offset(), false, false,
                                           memory.is_in_block(), place.block, place.block_bytes));
    const bool is_first = !memory.is_in_block() || handed_blocks_.insert(place.block).second;
    return hand_over(builder, request, is_first ? memory.fd() : -1, deadline);
}

Result<DaemonBuffer> Connection::hand_over(const flatbuffers::FlatBufferBuilder& packet,
                                           uint64_t request, int fd, TimePoint deadline) {
    PACE_TRY_ASSIGN(answer, ask<wire::BufferCreated>(packet, request, fd, deadline));
    const auto& created = *answer.body<wire::BufferCreated>();
    return DaemonBuffer{created.buffer(), created.generation()};
}

Result<> Connection::free_buffer(uint32_t index, TimePoint deadline, bool keeps_place) {
    const uint64_t request = next_request_++;
    flatbuffers::FlatBufferBuilder builder;
    finish_packet(builder, wire::CreateBufferFree(builder, request, index, keeps_place));
    PACE_TRY(ask<wire::Done>(builder, request, -1, deadline));
    return {};
}

Result<> Connection::leave(TimePoint deadline) {
    const uint64_t request = next_request_++;
    flatbuffers::FlatBufferBuilder builder;
    finish_packet(builder, wire::CreateLeave(builder, request));
    PACE_TRY(ask<wire::Done>(builder, request, -1, deadline));
    return {};
}

Result<> Connection::cancel(uint64_t id) {
    flatbuffers::FlatBufferBuilder builder;
    finish_packet(builder, wire::CreateCancel(builder, id));
    auto sent = link_.send(builder, -1, base::now());
    if (!sent && !is_gone())
        return make_error(ErrorKind::limit, "{}; the request is still in flight: try again",
                          sent.error().message);
    return sent;
}

void Connection::report(const Progress& progress) {
    flatbuffers::FlatBufferBuilder builder;
    finish_packet(builder, wire::CreateProgress(builder, progress.loss, progress.samples_per_s,
                                                progress.steps_done, progress.steps_total));
    [[maybe_unused]] const auto sent = link_.send(builder, -1, base::now());
}

Wake Connection::await_completion(TimePoint deadline, bool interruptible) {
    const TimePoint start = base::now();
    // Simulated time would stand still while the thread spins.
    const base::Duration spins = base::is_simulated() ? base::Duration() : spin_.budget();
    const TimePoint spin_until = std::min(deadline, start + spins);
    Wake wake = Wake::deadline;
    while (wake == Wake::deadline && base::now() < spin_until) {
        if (ring_.has_completions()) wake = Wake::completion;
        // The daemon may need the very core that we look from.
        else
            sched_yield();
    }
    if (wake == Wake::deadline) wake = sleep(deadline, interruptible);
    if (wake == Wake::completion) spin_.learn(base::now() - start);
    return wake;
}

Wake Connection::sleep(TimePoint deadline, bool interruptible) {
    ring_.set_sleeping(true);
    for (;;) {
        if (ring_.has_completions()) return Wake::completion;
        // The poll does not ask for POLLIN on the socket: answers to calls belong to another
        // thread.
        std::array<pollfd, 2> watched{pollfd{ring_.completion_bell(), POLLIN, 0},
                                      pollfd{link_.fd(), POLLRDHUP, 0}};
        const int ready = base::wait_on(watched, deadline);
        if (ready < 0 && errno != EINTR) return Wake::gone;
        const bool interrupted = ready < 0 && interruptible;
        if (ready > 0 && watched[1].revents != 0) return Wake::gone;
        if (ready > 0) ring_.clear_bell();
        if (ring_.has_completions()) return Wake::completion;
        if (interrupted) return Wake::interrupted;
        if (base::now() >= deadline) return Wake::deadline;
    }
}

std::string Connection::farewell() {
    // A call that is under way may want this packet. The packet would only tell the call that the
    // daemon is gone.
    auto last = link_.receive(base::now());
    if (last) {
        if (const auto* failed = last->body<wire::Failed>()) return error_of(*failed).message;
    }
    return "it has closed the connection";
}

void Connection::sever() {
    severed_ = true;
    link_.sever();
}

}  // namespace pace::client
