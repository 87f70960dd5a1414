#include "service/controller/shell/controller_server.h"

#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "base/log/controller_events.h"
#include "base/random.h"
#include "protocol/control_codec.h"
#include "service/controller/core/status/status.h"
#include "service/controller/shell/awake_clock.h"
#include "service/controller/shell/dispatch/dispatcher.h"
#include "service/controller/shell/door/door.h"
#include "service/controller/shell/journal/journal.h"
#include "service/controller/shell/journal/journal_watch.h"
#include "service/controller/shell/journal/note_log.h"
#include "service/controller/shell/settings/listen_policy.h"
#include "service/controller/shell/status/events_json.h"
#include "service/controller/shell/status/status_json.h"
#include "service/controller/zmq/endpoint.h"
#include "service/controller/zmq/socket.h"

namespace pace::controller {

namespace {

// send_max: messages that may wait for a daemon that does not read; then the daemon is given up. A
// frozen daemon of a busy job collects a few thousand a second, and is excluded within two seconds.
// receive_max: a peer that sends faster than we read queues in its own memory. With what is half
// read, about six of its messages, each at most a mebibyte, wait in ours.
constexpr control_zmq::Socket::Queues kQueues{.send_max = 10'000, .receive_max = 4};

// The messages and bytes handled in one turn, so that a flood leaves turns to the loop's other
// users. A guess, some milliseconds.
constexpr int kBatch = 256;
constexpr size_t kBatchBytes = size_t{4} << 20U;

Dispatcher::Options dispatcher_options(const ControllerConfig& config) {
    using std::chrono::milliseconds;
    Dispatcher::Options options;
    options.heartbeat_ms = config.heartbeat_ms;
    options.name_held =
        std::max<base::Duration>(milliseconds(config.heartbeat_ms) * 3, milliseconds(500));
    options.core.seed = config.seed;
    options.core.liveness_max = milliseconds(config.liveness_max_ms);
    options.core.liveness_min = milliseconds(config.liveness_min_ms);
    options.core.probe_wait = milliseconds(config.probe_wait_ms);
    options.core.stopped_wait = milliseconds(config.stopped_wait_ms);
    options.core.abandoned_keep = std::chrono::seconds(config.abandoned_keep_s);
    options.core.recent_groups = config.recent_groups;
    options.core.relay_measured_zones = config.relay_measured_zones;
    options.core.unjoined_keep = std::chrono::seconds(config.unjoined_keep_s);
    options.core.limits = {config.jobs_max, config.user_jobs_max, config.workers_max,
                           config.user_workers_max};
    return options;
}

uint64_t open_files_max() {
    rlimit limit{};
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

int64_t since_1970_ms() {
    return base::since_1970() / std::chrono::milliseconds(1);
}

// A built status is reused for this many times the processor time that its building took. So the
// controller spends at most a twentieth of its time on status, however many requests come. A busy
// machine makes no status older: time in which the thread waits for a processor does not count.
constexpr int kStatusShare = 20;

}  // namespace

struct ControllerServer::State final : Outlet {
    State(base::EventLoop& event_loop, const ControllerConfig& given, control_zmq::Socket bound)
        : loop(event_loop),
          clock(base::now_through_sleep()),
          config(given),
          door(event_loop, config, [this] { rights_changed(); }),
          socket(std::move(bound)),
          dispatcher(dispatcher_options(given), base::random_token, *this, door.rights()) {}

    base::Result<> recover();
    base::Result<> listen();
    TimePoint now();
    // A controller on a daemon's loop only cannot be given up: its daemon has not run either.
    bool may_be_given_up() const {
        return std::any_of(config.listen.begin(), config.listen.end(),
                           [](const auto& endpoint) { return !endpoint.starts_with("inproc://"); });
    }
    void schedule();
    void pulse();
    void rights_changed();

    bool send(std::string_view route, std::span<const std::byte> bytes) override {
        return socket.send(route, bytes) == control_zmq::Sent::done;
    }
    void append(std::vector<std::byte> record) override {
        if (journal) journal->append(std::move(record));
    }
    std::optional<base::Error> journal_failure() const override {
        return journal ? journal->failure() : std::nullopt;
    }
    uint64_t clock_ns() const override { return base::now_ns(); }
    void note(const Note& said) override {
        events.add(said, since_1970_ms());
        if (!said.routine) log_note(said, message.peer);
    }
    void note_journal();
    std::string status_json() const override;

    base::EventLoop& loop;
    AwakeClock clock;
    const ControllerConfig config;
    Door door;  // before the socket that asks it
    control_zmq::Socket socket;
    std::unique_ptr<Journal> journal;
    EventRing events;
    JournalWatch journal_watch;   // for the log
    bool journal_failed = false;  // as the events report
    Dispatcher dispatcher;
    std::vector<std::string> endpoints;
    control_zmq::Socket::Message message;

    base::Timer timer;
    TimePoint timer_at{};  // on the monotonic clock

    mutable std::string status;
    mutable TimePoint status_good_until{};
};

base::Result<std::unique_ptr<ControllerServer>> ControllerServer::create(
    base::EventLoop& loop, std::shared_ptr<control_zmq::Context> context,
    const ControllerConfig& config) {
    if (config.listen.empty())
        return base::make_error(base::ErrorKind::invalid,
                                "no endpoint to listen on; set listen, for example to "
                                "tcp://127.0.0.1:7411");
    if (config.heartbeat_ms == 0)
        return base::make_error(base::ErrorKind::invalid, "heartbeat_ms is 0; set at least 1");
    if (!config.curve_allowed_dir.empty() && config.curve_secret_file.empty())
        return base::make_error(base::ErrorKind::invalid,
                                "curve_allowed_dir means nothing without curve_secret_file; set "
                                "both or none");
    if (!context) {
        PACE_TRY_ASSIGN(own, control_zmq::Context::create());
        context = std::move(own);
    }
    PACE_TRY_ASSIGN(socket, control_zmq::Socket::create(context, control_zmq::SocketType::router,
                                                        protocol::kToControllerBytesMax, kQueues));
    auto state = std::make_unique<State>(loop, config, std::move(socket));
    PACE_TRY(state->recover());
    PACE_TRY(state->door.open(context, state->socket));
    PACE_TRY(state->socket.watch_connections());
    state->socket.monitor()->set_connections_max(
        std::min<uint64_t>(config.connections_max, open_files_max() / 2));
    PACE_TRY(state->listen());
    PACE_TRY(loop.watch(state->socket.fd(), EPOLLIN, [](uint32_t) {}));
    PACE_TRY(loop.watch(state->socket.monitor()->fd(), EPOLLIN, [](uint32_t) {}));
    std::unique_ptr<ControllerServer> server(new ControllerServer(std::move(state)));
    loop.add_poller(server.get());
    server->state_->schedule();
    return server;
}

// Replays the journal into the core before any message is handled.
base::Result<> ControllerServer::State::recover() {
    const TimePoint begin = base::now();
    if (!config.journal.empty()) {
        PACE_TRY_ASSIGN(opened,
                        Journal::open(config.journal, {.cut_damaged = config.cut_damaged_journal}));
        if (!opened.cut_because.empty())
            base::log_event(base::events::kJournalCut, {{"path", config.journal},
                                                        {"offset", opened.cut_at},
                                                        {"bytes", opened.cut_bytes},
                                                        {"because", opened.cut_because}});
        for (size_t i = 0; i < opened.records.size(); ++i) {
            if (auto replayed = dispatcher.replay(opened.records[i]); !replayed)
                return base::make_error(
                    replayed.error().kind,
                    "journal {}: record {} of {} is whole but not understood: {}; run the Pace "
                    "that wrote it, or move the file away and let the daemons announce themselves",
                    config.journal, i + 1, opened.records.size(), replayed.error().message);
        }
        journal = std::move(opened.journal);
        if (auto compacted = journal->compact(dispatcher.core().journal_snapshot()); !compacted)
            base::log_event(base::events::kJournalLong, {{"because", compacted.error().message}});
        journal_watch.look(journal->failure());
        journal->start();
        base::log_event(base::events::kJournalRead,
                        {{"path", config.journal},
                         {"records", opened.records.size()},
                         {"seconds", base::to_seconds(base::now() - begin)}});
    }
    clock = AwakeClock(base::now_through_sleep());
    note({false,
          "controller-started",
          fmt::format("pace-controller {} has started{}; what was before is in its log",
                      PACE_VERSION,
                      config.journal.empty() ? "" : ", with the journal " + config.journal),
          {},
          true});
    dispatcher.replay_finished(now());
    return {};
}

base::Result<> ControllerServer::State::listen() {
    for (const std::string& wanted : config.listen) {
        PACE_TRY_ASSIGN(endpoint, listenable(wanted, config));
        PACE_TRY(socket.bind(endpoint));
        endpoints.push_back(socket.last_endpoint());
        if (control_zmq::is_off_loopback(endpoint) && config.curve_secret_file.empty())
            base::log_event(base::events::kControllerUnencrypted, {{"endpoint", endpoints.back()}});
    }
    return {};
}

// The time for the core. Call it before handing any event to the core.
TimePoint ControllerServer::State::now() {
    const TimePoint time = base::now_through_sleep();
    const base::Duration stood_still = clock.look(time);
    const TimePoint awake = clock.at(time);
    if (stood_still < AwakeClock::kGivenUp || !may_be_given_up()) return awake;
    const std::string reason =
        fmt::format("the controller did not run for {:.1f} s", base::to_seconds(stood_still));
    base::log_event(base::events::kControllerStoodStill,
                    {{"seconds", base::to_seconds(stood_still)}});
    note({true, "controller-stood-still", reason + "; every daemon attaches anew", {}, true});
    dispatcher.begin_anew(reason, awake);
    return awake;
}

// A timer that fires too early costs one Tick, so the timer is only moved when it would fire too
// late.
void ControllerServer::State::schedule() {
    const TimePoint monotonic = base::now();
    TimePoint due = monotonic + AwakeClock::kPulse;
    if (const auto deadline = dispatcher.next_deadline())
        due = std::min(due, monotonic + clock.until(*deadline, base::now_through_sleep()));
    if (timer.pending() && timer_at <= due) return;
    timer_at = due;
    timer = loop.run_at(due, [this] { pulse(); });
}

void ControllerServer::State::pulse() {
    const TimePoint time = now();
    if (const auto deadline = dispatcher.next_deadline(); deadline && *deadline <= time)
        dispatcher.tick(time);
    if (journal) journal_watch.look(journal->failure());
    if (journal && journal->is_long()) journal->replace(dispatcher.core().journal_snapshot());
    note_journal();
    schedule();
}

// The journal's writer logs each failure. The events record when a failure begins and ends.
void ControllerServer::State::note_journal() {
    const auto failure = journal_failure();
    if (failure.has_value() == journal_failed) return;
    journal_failed = failure.has_value();
    const std::string text =
        failure ? fmt::format("no new jobs are taken, since the journal cannot be written: {}",
                              failure->message)
                : std::string("the journal is written again, and new jobs are taken");
    note({journal_failed, journal_failed ? "journal-failed" : "journal-written", text, {}, true});
}

void ControllerServer::State::rights_changed() {
    dispatcher.rights_changed(now());
    schedule();
}

std::string ControllerServer::State::status_json() const {
    if (base::now() < status_good_until) return status;
    const base::Duration begin = base::thread_cpu_time();
    const TimePoint awake = clock.at(base::now_through_sleep());
    ShellView shell{.endpoints = endpoints,
                    .curve = !config.curve_secret_file.empty(),
                    .heartbeat_ms = config.heartbeat_ms,
                    .seed = config.seed,
                    .counters = dispatcher.counters(),
                    .journal_path = config.journal,
                    .journal = {},
                    .events = &events,
                    .unix_ms = since_1970_ms()};
    if (journal) shell.journal = journal->status();
    status = controller::status_json(dispatcher.core().status(awake), shell, awake);
    status_good_until = base::now() + (base::thread_cpu_time() - begin) * kStatusShare;
    return status;
}

ControllerServer::ControllerServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

ControllerServer::~ControllerServer() {
    state_->loop.remove_poller(this);
    state_->loop.unwatch(state_->socket.fd());
    state_->loop.unwatch(state_->socket.monitor()->fd());
}

bool ControllerServer::poll() {
    State& state = *state_;
    state.now();
    state.door.look();
    int taken = 0;
    size_t bytes = 0;
    while (taken < kBatch && bytes < kBatchBytes && state.socket.receive(state.message)) {
        ++taken;
        const auto& frames = state.message.frames;
        for (size_t i = 0; i < state.message.count; ++i) bytes += frames[i].size();
        if (state.message.count != 2) {
            state.dispatcher.receive_malformed();
            continue;
        }
        if (!state.door.hears(state.message)) continue;
        state.dispatcher.receive(
            {reinterpret_cast<const char*>(frames[0].data()), frames[0].size()}, frames[1],
            state.now(), state.message.key);
    }
    if (taken > 0) state.schedule();
    return taken > 0;
}

bool ControllerServer::arm() {
    return !state_->socket.readable();
}

const std::vector<std::string>& ControllerServer::endpoints() const {
    return state_->endpoints;
}

std::string ControllerServer::status_json() const {
    return state_->status_json();
}

std::string ControllerServer::events_json(uint64_t since) const {
    return controller::events_json(state_->events, since);
}

base::Result<> ControllerServer::set_draining(const std::string& node, bool draining) {
    auto done = state_->dispatcher.set_draining(node, draining, state_->now());
    state_->status_good_until = {};
    state_->schedule();
    return done;
}

base::Result<> ControllerServer::delete_job(const std::string& name) {
    auto done = state_->dispatcher.delete_job(name, state_->now());
    state_->status_good_until = {};
    state_->schedule();
    return done;
}

std::string ControllerServer::status_line() const {
    const auto failure = state_->journal_failure();
    return fmt::format("{} nodes attached, {} jobs{}", state_->dispatcher.attachments().attached(),
                       state_->dispatcher.core().jobs(),
                       failure ? "; no new jobs: " + failure->message : "");
}

std::optional<std::string> ControllerServer::obstacle() const {
    const auto failure = state_->journal_failure();
    if (!failure) return std::nullopt;
    return fmt::format("the journal {} cannot be written: {}; no new job is accepted",
                       state_->config.journal, failure->message);
}

ControllerServer::Counters ControllerServer::counters() const {
    const Dispatcher::Counters& from = state_->dispatcher.counters();
    return {from.received,   from.sent,    from.malformed,
            from.unattached, from.refused, from.undeliverable};
}

}  // namespace pace::controller
