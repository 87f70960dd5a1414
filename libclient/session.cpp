// Opening, closing, buffers, reconnecting. What happens to requests is in session_requests.cpp.
#include "libclient/session.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "base/random.h"
#include "libclient/joining.h"

namespace pace::client {

using base::Duration;
using base::Error;
using base::ErrorKind;
using base::make_error;
using base::Result;
using base::TimePoint;

namespace {

using std::chrono::milliseconds;

// A session that opens is not kept waiting for a daemon that is not there, except for a moment in
// which one may be starting.
constexpr Duration kAbsentAtOpen = milliseconds(250);
// One that is there is given so long to answer, whatever the caller's patience.
constexpr Duration kAnswerMin = milliseconds(1000);

// A daemon that reserves memory writes every page: allow it a second for each of these, a guess
// four times slower than the slowest machine seen.
constexpr uint64_t kBytesPerSecond = uint64_t{256} << 20U;

// The largest buffer, so that sizes cannot overflow: what a process can map.
constexpr uint64_t kBufferBytesMax = uint64_t{1} << 47U;

// Where a GPU exports no descriptors of its memory.
Error lost_with_daemon() {
    return make_error(ErrorKind::closed,
                      "a buffer was on a GPU whose memory goes with the daemon that made it; open "
                      "another session");
}

// Memory of the trainer's own, if there is any.
Result<> check_outside(const std::byte* outside, uint64_t count, protocol::DType type) {
    const size_t element_bytes = size_of(type);
    if (reinterpret_cast<uintptr_t>(outside) % element_bytes != 0)
        return make_error(ErrorKind::invalid,
                          "options->pointer is {}, which is not aligned for elements of {} bytes; "
                          "begin at an element",
                          static_cast<const void*>(outside), element_bytes);
    if (is_writable(outside, count * element_bytes)) return {};
    return make_error(ErrorKind::invalid,
                      "options->pointer is {}, from where on this process cannot read and write "
                      "{} bytes; give memory that is mapped, of all {} elements",
                      static_cast<const void*>(outside), count * element_bytes, count);
}

// A memfd of the trainer's own becomes the daemon's, too.
Result<NewBuffer> share_memory(Connection& connection, protocol::DType type, uint64_t count, int fd,
                               TimePoint deadline) {
    const size_t bytes = count * size_of(type);
    base::UniqueFd own(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!own.valid())
        return make_error(ErrorKind::invalid, "options->fd is {}, which is no open descriptor: {}",
                          fd, base::make_errno_error(errno, "duplicate it").message);
    auto memory = base::MappedMemfd::adopt(std::move(own), bytes);
    if (!memory)
        return make_error(ErrorKind::invalid,
                          "options->fd is {}, which cannot be shared: {}; give a memfd of exactly "
                          "count elements, in whole pages, sealed with F_SEAL_SHRINK, F_SEAL_GROW "
                          "and F_SEAL_SEAL",
                          fd, memory.error().message);
    // Here and now, at this process's cost: the daemon then finds every page.
    while (!memory->is_populated()) PACE_TRY(memory->populate(base::MappedMemfd::kPieceBytes));
    PACE_TRY_ASSIGN(daemon, connection.hand_buffer(type, count, memory->fd(), true, deadline));
    return NewBuffer{daemon, std::move(*memory), nullptr, false, true};
}

// The same of memory on a GPU.
Result<NewBuffer> share_memory(Connection& connection, protocol::DType type, uint64_t count,
                               Gpu& gpu, const Imported& imported, TimePoint deadline) {
    const size_t bytes = count * size_of(type);
    auto shared = imported.pointer != nullptr ? gpu.share(imported.pointer, bytes)
                                              : gpu.share(imported.fd, bytes);
    if (!shared) return std::move(shared).error();
    PACE_TRY_ASSIGN(daemon, connection.hand_buffer(type, count, **shared, deadline));
    return NewBuffer{daemon, {}, std::move(*shared)};
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const Endpoint& endpoint, const AskedOptions& asked,
                                               uint32_t rank, Duration connect_within,
                                               const RunIdentity& run, bool interruptible) {
    PACE_TRY_ASSIGN(job, known_job(asked));
    if (rank >= asked.world)
        return make_error(ErrorKind::invalid, "rank is {}; it must be less than world, which is {}",
                          rank, asked.world);
    const TimePoint now = base::now();
    const TimePoint absent = now + std::min(kAbsentAtOpen, connect_within / 2);
    connect_within = std::max(connect_within, kAnswerMin);
    const Patience patience{now + connect_within, absent, interruptible};
    Introduction who{.rank = rank, .run = run};
    PACE_TRY_ASSIGN(connection, connect_patiently(endpoint, asked, who, patience));
    who.began = connection->facts().began;
    std::unique_ptr<Session> session(new Session(endpoint, std::move(job), std::move(who),
                                                 connect_within, std::move(connection)));
    session->interruptible_ = interruptible;
    PACE_TRY(session->fork_mark_.set());
    return session;
}

Session::Session(Endpoint endpoint, KnownJob job, Introduction standing, Duration connect_within,
                 std::shared_ptr<Connection> connection)
    : endpoint_(std::move(endpoint)),
      job_(std::move(job)),
      rank_(standing.rank),
      connect_(connect_within),
      stamp_(base::random_token()),
      connection_(std::move(connection)),
      standing_(std::move(standing)),
      buffers_(stamp_),
      found_under_way_(connection_->facts().under_way),
      found_deserted_(connection_->facts().deserted),
      requests_(stamp_) {
    requests_.set_limit(connection_->ring().slots());
    connection_->ring().set_sleeping(false);
}

Session::~Session() {
    // A forked child shares the socket: to sever it would end the parent's session.
    if (!fork_mark_.in_child()) connection_->sever();
}

Result<bool> Session::leave(TimePoint deadline) {
    PACE_TRY(check_open());
    const std::scoped_lock setup(setup_mutex_);
    std::shared_ptr<Connection> connection;
    {
        const std::scoped_lock lock(mutex_);
        PACE_TRY(check_open());
        if (is_connected()) connection = connection_;
        left_ = true;
    }
    Result<> told = make_error(ErrorKind::unavailable,
                               "the daemon is gone, and cannot be told that the worker leaves: the "
                               "worker counts as one that died");
    if (connection) told = connection->leave(deadline);

    const std::scoped_lock lock(mutex_);
    gone_ = true;
    connection_->sever();
    collected_.notify_all();
    if (told) return true;
    // A daemon that does not answer in time cannot be told from one that goes at that moment.
    if (connection && base::now() >= deadline) return false;
    return std::move(told).error();
}

Result<> Session::check_open() const {
    if (fork_mark_.in_child())
        return make_error(ErrorKind::invalid,
                          "the session belongs to the process that opened it, and this is a forked "
                          "child; open a session here");
    if (left_) return make_error(ErrorKind::closed, "the session has left its job; open another");
    return {};
}

Result<SessionInfo> Session::info() {
    PACE_TRY(check_open());
    const std::scoped_lock lock(mutex_);
    const JoinFacts& facts = connection_->facts();
    return SessionInfo{.rank = rank_,
                       .world = job_.asked.world,
                       .under_way = found_under_way_,
                       .deserted = found_deserted_,
                       .generation = facts.generation,
                       .job = job_.asked.name,
                       .node = facts.node,
                       .run = facts.run,
                       .began = facts.began};
}

Result<CreatedBuffer> Session::create_buffer(protocol::DType type, uint64_t count, uint32_t device,
                                             const Imported& imported) {
    PACE_TRY(check_open());
    if (!is_valid(type))
        return make_error(ErrorKind::invalid, "type is {}; use PACE_F32, _F64, _F16 or _BF16",
                          static_cast<unsigned>(type));
    if (count == 0 || count > kBufferBytesMax / size_of(type))
        return make_error(ErrorKind::invalid, "count is {}; give 1 to {} elements of type {}",
                          count, kBufferBytesMax / size_of(type), name_of(type));

    const bool is_outside = imported.pointer != nullptr && device == 0;
    if (is_outside) PACE_TRY(check_outside(imported.pointer, count, type));

    const std::scoped_lock setup(setup_mutex_);
    PACE_TRY(reconnect());
    std::shared_ptr<Connection> connection;
    {
        const std::scoped_lock lock(mutex_);
        buffers_.reserve();
        connection = connection_;
    }
    const auto seconds = std::chrono::seconds(count * size_of(type) / kBytesPerSecond);
    const TimePoint deadline = base::now() + connect_ + seconds;
    Gpu* gpu = nullptr;
    if (device != 0) {
        PACE_TRY_ASSIGN(opened, open_gpu(device - 1, *connection));
        gpu = opened;
    }
    const auto make = [&]() -> Result<NewBuffer> {
        if (gpu != nullptr && (imported.pointer != nullptr || imported.fd >= 0))
            return share_memory(*connection, type, count, *gpu, imported, deadline);
        if (imported.fd >= 0) return share_memory(*connection, type, count, imported.fd, deadline);
        return gpu != nullptr ? connection->create_buffer(type, count, *gpu, deadline)
                              : connection->create_buffer(type, count,
                                                          is_outside || imported.is_copy, deadline);
    };
    auto made = make();

    const std::scoped_lock lock(mutex_);
    if (!made) {
        (void)is_connected();
        return settled(std::move(made).error());
    }
    const BufferHandle handle =
        buffers_.add(type, count, std::move(*made), is_outside ? imported.pointer : nullptr);
    return CreatedBuffer{handle, buffers_.at(handle.index).data()};
}

Result<> Session::free_buffer(BufferHandle handle) {
    PACE_TRY(check_open());
    BufferHandle copy;
    {
        const std::scoped_lock lock(mutex_);
        if (const auto buffer = buffers_.find(handle)) copy = (*buffer)->copy;
    }
    PACE_TRY(free_one(handle));
    return free_one(copy);
}

Result<> Session::free_one(BufferHandle handle) {
    if (handle.session == 0 && handle.index == 0 && handle.generation == 0) return {};

    const std::scoped_lock setup(setup_mutex_);
    std::shared_ptr<Connection> connection;
    DaemonBuffer daemon;
    {
        const std::scoped_lock lock(mutex_);
        PACE_TRY_ASSIGN(buffer, buffers_.find_idle(handle));
        if (is_connected()) connection = connection_;
        daemon = buffer->daemon;
        buffer->freeing = true;
    }
    // Without a daemon there is nobody to tell: the buffer is simply not handed to the next one.
    Result<> told;
    if (connection) told = connection->free_buffer(daemon.index, base::now() + connect_);

    const std::scoped_lock lock(mutex_);
    if (!told && is_connected()) {
        buffers_.at(handle.index).freeing = false;
        return told;
    }
    buffers_.remove(handle.index);
    return {};
}

Result<> Session::reconnect() {
    {
        const std::scoped_lock lock(mutex_);
        if (is_connected()) return {};
    }
    const TimePoint deadline = base::now() + connect_;
    Retry retry(deadline, interruptible_);
    std::optional<Error> reason;
    for (;;) {
        auto made = try_reconnect(deadline);
        if (made) return made;
        if (!reason || !ran_out(made.error(), deadline)) reason = std::move(made).error();
        if (passes_by_itself(reason->kind) && retry.pause()) continue;
        if (retry.interrupted()) reason = interrupted_error();
        Error& error = *reason;
        if (error.kind == ErrorKind::not_found) error.kind = ErrorKind::unavailable;
        error.message =
            fmt::format("the session lost its daemon and could not reconnect: {}", error.message);
        return error;
    }
}

// The buffer table does not change meanwhile: that needs setup_mutex_, which we hold.
Result<> Session::try_reconnect(TimePoint deadline) {
    const auto standing = [this] {
        const std::scoped_lock lock(mutex_);
        return standing_;
    };
    PACE_TRY_ASSIGN(connection, connect_and_join(endpoint_, job_.asked, standing(),
                                                 {deadline, deadline, interruptible_}));

    PACE_TRY(share_gpus(*connection, deadline));
    struct Handing {
        protocol::DType type;
        uint64_t count;
        int memory;
        bool temporary;
        std::shared_ptr<const GpuMemory> gpu_memory;
    };
    std::vector<Handing> buffers;
    {
        const std::scoped_lock lock(mutex_);
        for (const uint32_t index : buffers_.in_use()) {
            const Buffer& buffer = buffers_.at(index);
            if (buffer.gpu_memory && !buffer.gpu_memory->outlives_daemon())
                return lost_with_daemon();
            const int memory = buffer.gpu_memory ? -1 : buffer.memory->fd();
            buffers.push_back(
                {buffer.type, buffer.count, memory, buffer.temporary, buffer.gpu_memory});
        }
    }
    std::vector<DaemonBuffer> handed;
    handed.reserve(buffers.size());
    for (const Handing& buffer : buffers) {
        auto taken =
            buffer.gpu_memory
                ? connection->hand_buffer(buffer.type, buffer.count, *buffer.gpu_memory, deadline)
                : connection->hand_buffer(buffer.type, buffer.count, buffer.memory,
                                          buffer.temporary, deadline);
        if (!taken) return settled(std::move(taken).error());
        handed.push_back(*taken);
    }

    const std::scoped_lock lock(mutex_);
    return install(std::move(connection), handed);
}

Result<> Session::install(std::shared_ptr<Connection> connection,
                          std::span<const DaemonBuffer> handed) {
    if (signal_) {
        signal_->detach(connection_->ring().completion_bell(), connection_->socket());
        PACE_TRY(signal_->attach(connection->ring().completion_bell(), connection->socket()));
    }
    size_t next = 0;
    for (const uint32_t index : buffers_.in_use()) buffers_.at(index).daemon = handed[next++];
    connection_ = std::move(connection);
    requests_.set_limit(connection_->ring().slots());
    connection_->ring().set_sleeping(signal_ != nullptr);
    gone_ = false;
    standing_.began = connection_->facts().began;
    return {};
}

}  // namespace pace::client
