// Opening, leaving, losing the daemon and reconnecting.
#include "libclient/session/session.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/random.h"
#include "libclient/connection/handing.h"
#include "libclient/connection/joining.h"
#include "libclient/requests/outside_memory.h"

namespace pace::client {

using base::Duration;
using base::Error;
using base::ErrorKind;
using base::make_error;
using base::Result;
using base::TimePoint;

namespace {

using std::chrono::milliseconds;

// A session that opens does not wait for a daemon that is absent. The session allows only this
// moment, in which a daemon may be starting.
constexpr Duration kAbsentAtOpen = milliseconds(250);
// A daemon that is there gets at least this time to answer, even if the caller allows less.
constexpr Duration kAnswerMin = milliseconds(1000);

constexpr Duration kReportEvery = milliseconds(100);

bool takes_iteration(protocol::Verb verb) {
    return verb == protocol::Verb::reduce || verb == protocol::Verb::average;
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
    // A forked child shares the socket, and the words of streams. The parent's session must not
    // end.
    if (fork_mark_.in_child()) return;
    connection_->sever();
    for (const auto& [ordinal, gpu] : gpus_) gpu->release_streams();
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
    for (const auto& [ordinal, gpu] : gpus_) gpu->release_streams();
    collected_.notify_all();
    if (told) return true;
    // A daemon that does not answer in time cannot be told from a daemon that dies at that moment.
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

Result<> Session::report(const Progress& progress) {
    PACE_TRY(check_open());
    std::shared_ptr<Connection> connection;
    {
        const std::scoped_lock lock(mutex_);
        const TimePoint now = base::now();
        if (gone_ || now < reported_ + kReportEvery) return {};
        reported_ = now;
        connection = connection_;
    }
    connection->report(progress);
    return {};
}

bool Session::is_connected() {
    if (gone_) return false;
    // The check costs one system call that does not wait. A verb after a long computation thereby
    // reconnects and does not give a request to a daemon that is gone.
    if (!connection_->is_gone()) return true;
    lose(connection_->farewell());
    return false;
}

void Session::lose(std::string_view reason) {
    // Requests that the daemon finished before it died count as finished.
    (void)take_completions();
    gone_ = true;
    connection_->sever();
    for (const auto& [ordinal, gpu] : gpus_) gpu->release_streams();
    requests_.for_each_in_flight([&](Request& request) {
        request.contents =
            contents_left(buffers_, request, connection_->ring().written(request.id));
        request.end.entry.id = request.id;
        fill_gone(request.end, gone_text(request, reason));
        if (request.contents == protocol::WriteState::whole && takes_iteration(request.verb)) {
            request.end.entry.iteration = standing_.iteration = request.iteration;
            ++standing_.rounds;
        }
        end(request);
    });
    collected_.notify_all();
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

// The buffer table does not change during this method: changes need setup_mutex_, which the caller
// holds.
Result<> Session::try_reconnect(TimePoint deadline) {
    const auto standing = [this] {
        const std::scoped_lock lock(mutex_);
        return standing_;
    };
    PACE_TRY_ASSIGN(connection, connect_and_join(endpoint_, job_.asked, standing(),
                                                 {deadline, deadline, interruptible_}));

    PACE_TRY(share_gpus(*connection, deadline));
    const auto buffers = [this] {
        const std::scoped_lock lock(mutex_);
        return buffers_to_hand(buffers_);
    };
    PACE_TRY_ASSIGN(handings, buffers());
    auto handed = hand(*connection, handings, deadline);
    if (!handed) return settled(std::move(handed).error());

    const std::scoped_lock lock(mutex_);
    return install(std::move(connection), *handed);
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
