#include "service/http/server/server.h"

#include <sys/epoll.h>
#include <sys/types.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <microhttpd.h>

#include "base/local_peer.h"
#include "base/loop/scope.h"
#include "service/http/address.h"
#include "service/http/credentials.h"
#include "service/http/gate.h"
#include "service/http/server/deadlines.h"
#include "service/http/server/library.h"

namespace pace::http {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

// Once the handlers of one turn have taken this long, later requests of the turn are told to come
// back. One client may send hundreds of requests at once.
constexpr base::Duration kTurnMax = std::chrono::milliseconds(30);

constexpr const char* kTlsPriorities = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

// Whose the other end of a connection over loopback is. Nothing if the kernel does not tell.
std::optional<uid_t> user_of(MHD_Connection* connection) {
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == nullptr) return std::nullopt;
    const auto user = base::user_of_peer(info->connect_fd);
    return user ? std::optional(*user) : std::nullopt;
}

// One request, from its head until it is answered.
struct Exchange {
    Gate::Admission admission;
    uint64_t number = 0;             // of its handler's call; 0 if not called yet
    std::optional<Response> answer;  // the handler's answer
};

}  // namespace

struct Server::State {
    State(base::EventLoop& event_loop, const Limits& given, Gate checked)
        : loop(event_loop), limits(given), gate(std::move(checked)), deadlines(event_loop) {}
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    Result<> start(const Address& address, TlsTexts& tls);
    std::vector<MHD_OptionItem> library_options(int listening, TlsTexts& tls);
    void run();

    MHD_Result begin(MHD_Connection* connection, const char* path, const char* method,
                     void** exchange);
    MHD_Result go_on(MHD_Connection* connection, const char* data, size_t* data_bytes,
                     Exchange& exchange);
    MHD_Result ask_handler(MHD_Connection* connection, Exchange& exchange);
    void answered(uint64_t number, Response response);
    MHD_Result refuse(MHD_Connection* connection, Response response);
    MHD_Result send(MHD_Connection* connection, Response response);

    // Called by the library.
    static MHD_Result on_request(void* self, MHD_Connection* connection, const char* path,
                                 const char* method, const char* version, const char* data,
                                 size_t* data_bytes, void** exchange);
    static void on_completed(void* self, MHD_Connection* connection, void** exchange,
                             MHD_RequestTerminationCode how);
    static void on_connection(void* self, MHD_Connection* connection, void** context,
                              MHD_ConnectionNotificationCode code);
    static void on_complaint(void* self, const char* format, va_list arguments);

    // A request whose handler has not replied yet. The library does not touch its connection
    // meanwhile.
    struct Waiting {
        MHD_Connection* connection = nullptr;
        Exchange* exchange = nullptr;
        base::Timer patience;
    };

    base::EventLoop& loop;
    base::Scope scope;
    const Limits limits;
    const Gate gate;
    Deadlines deadlines;
    MHD_Daemon* daemon = nullptr;
    int epoll = -1;
    base::Timer timer;
    base::Duration handlers_took{};  // in this turn
    size_t unread = 0;               // bytes of answers that clients have not read yet
    std::map<uint64_t, Waiting> waiting;
    uint64_t last_number = 0;
    std::string url;
    std::string complaint;  // the library's last message
    uint64_t requests = 0;
    uint64_t refused = 0;
};

Server::State::~State() {
    if (daemon == nullptr) return;
    if (epoll >= 0) loop.unwatch(epoll);
    for (const auto& [number, request] : waiting) MHD_resume_connection(request.connection);
    waiting.clear();
    MHD_stop_daemon(daemon);
}

Result<> Server::State::start(const Address& address, TlsTexts& tls) {
    PACE_TRY_ASSIGN(listening, listen_at(address));
    PACE_TRY_ASSIGN(bound, address_of(listening.get()));
    const bool secure = !tls.certificate.empty();
    unsigned flags = MHD_USE_EPOLL | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME;
    if (secure) flags |= MHD_USE_TLS;
    // The library owns and closes the socket from here on.
    const auto options = library_options(listening.release(), tls);
    daemon = MHD_start_daemon(flags, 0, nullptr, nullptr, &on_request, this, MHD_OPTION_ARRAY,
                              options.data(), MHD_OPTION_END);
    if (daemon == nullptr)
        return make_error(ErrorKind::invalid, "the HTTP server at {} does not start{}: {}",
                          bound.text(),
                          secure ? "; look at http_tls_certificate and http_tls_key (PEM)" : "",
                          complaint.empty() ? "no reason was given" : complaint);
    const MHD_DaemonInfo* info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info == nullptr || info->epoll_fd < 0)
        return make_error(ErrorKind::internal, "the HTTP library has no descriptor to wait for");
    PACE_TRY(loop.watch(info->epoll_fd, EPOLLIN, [this](uint32_t) { run(); }));
    epoll = info->epoll_fd;
    url = fmt::format("{}://{}", secure ? "https" : "http", bound.text());
    run();
    return {};
}

std::vector<MHD_OptionItem> Server::State::library_options(int listening, TlsTexts& tls) {
    const auto pointer = [](auto function) { return reinterpret_cast<intptr_t>(function); };
    const bool secure = !tls.certificate.empty();
    const auto connections = secure ? limits.connections_max_with_tls : limits.connections_max;
    std::vector<MHD_OptionItem> options{
        // First, to hear of the other options' errors.
        {MHD_OPTION_EXTERNAL_LOGGER, pointer(&on_complaint), this},
        {MHD_OPTION_LISTEN_SOCKET, listening, nullptr},
        {MHD_OPTION_CONNECTION_LIMIT, connections, nullptr},
        {MHD_OPTION_PER_IP_CONNECTION_LIMIT, limits.address_connections_max, nullptr},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, static_cast<intptr_t>(limits.header_bytes_max),
         nullptr},
        {MHD_OPTION_STRICT_FOR_CLIENT, 1, nullptr},
        {MHD_OPTION_NOTIFY_COMPLETED, pointer(&on_completed), this},
        {MHD_OPTION_NOTIFY_CONNECTION, pointer(&on_connection), this},
        {MHD_OPTION_UNESCAPE_CALLBACK, pointer(&leave_encoded), nullptr},
    };
    if (secure) {
        options.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, tls.certificate.data()});
        options.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, tls.key.data()});
        options.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kTlsPriorities)});
    }
    options.push_back({MHD_OPTION_END, 0, nullptr});
    return options;
}

void Server::State::run() {
    handlers_took = {};
    MHD_run(daemon);
    // The descriptor reports only changes. The library says itself when it has more to do.
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;
    if (MHD_get_timeout(daemon, &wait_ms) == MHD_YES)
        timer = loop.run_after(std::chrono::milliseconds(wait_ms), [this] { run(); });
    else
        timer.cancel();
}

MHD_Result Server::State::on_request(void* self, MHD_Connection* connection, const char* path,
                                     const char* method, const char*, const char* data,
                                     size_t* data_bytes, void** exchange) {
    return guarded([&] {
        State& state = *static_cast<State*>(self);
        if (*exchange == nullptr) return state.begin(connection, path, method, exchange);
        return state.go_on(connection, data, data_bytes, *static_cast<Exchange*>(*exchange));
    });
}

// The request's head is complete.
MHD_Result Server::State::begin(MHD_Connection* connection, const char* path, const char* method,
                                void** exchange) {
    Head head = head_of(connection, path, method);
    if (gate.asks_for_user()) head.user = user_of(connection);
    auto [admission, wrong] = gate.admit(head);
    if (wrong) return refuse(connection, std::move(*wrong));
    auto admitted = std::make_unique<Exchange>();
    admitted->admission = std::move(admission);
    *exchange = admitted.release();
    return MHD_YES;
}

// A part of the body has come, or the body's end.
MHD_Result Server::State::go_on(MHD_Connection* connection, const char* data, size_t* data_bytes,
                                Exchange& exchange) {
    Request& request = exchange.admission.request;
    if (*data_bytes > 0) {
        // The gate has seen the length, and the library enforces it.
        if (request.body.size() + *data_bytes > limits.body_bytes_max) return MHD_NO;
        request.body.append(data, *data_bytes);
        *data_bytes = 0;
        return MHD_YES;
    }
    if (exchange.answer) return send(connection, std::move(*exchange.answer));
    if (exchange.number != 0) return MHD_YES;
    return ask_handler(connection, exchange);
}

MHD_Result Server::State::ask_handler(MHD_Connection* connection, Exchange& exchange) {
    if (handlers_took > kTurnMax) {
        Response busy = refusal(503, "too many requests at once; come back in a second");
        busy.headers.emplace_back("Retry-After", "1");
        return refuse(connection, std::move(busy));
    }
    ++requests;
    const uint64_t number = ++last_number;
    exchange.number = number;
    waiting[number] = {.connection = nullptr, .exchange = &exchange, .patience = {}};
    const base::TimePoint begin = base::now();
    exchange.admission.route->handler(
        exchange.admission.request,
        scope.bind([this, number](Response response) { answered(number, std::move(response)); }));
    handlers_took += base::now() - begin;
    if (exchange.answer) return send(connection, std::move(*exchange.answer));
    deadlines.expect(connection, Deadlines::Awaited::reading, 2 * limits.answer_time_max);
    Waiting& request = waiting[number];
    request.connection = connection;
    request.patience = loop.run_after(limits.answer_time_max, [this, number] {
        answered(number, refusal(503, "the answer takes too long; come back later"));
    });
    MHD_suspend_connection(connection);
    return MHD_YES;
}

void Server::State::answered(uint64_t number, Response response) {
    const auto found = waiting.find(number);
    if (found == waiting.end()) return;
    found->second.exchange->answer = std::move(response);
    MHD_Connection* const suspended = found->second.connection;
    waiting.erase(found);
    if (suspended == nullptr) return;  // its handler is still running
    MHD_resume_connection(suspended);
    timer = loop.run_after(base::Duration::zero(), [this] { run(); });
}

// The connection ends with the answer. The rest of the body is not read.
MHD_Result Server::State::refuse(MHD_Connection* connection, Response response) {
    ++refused;
    response.headers.emplace_back("Connection", "close");
    return send(connection, std::move(response));
}

MHD_Result Server::State::send(MHD_Connection* connection, Response response) {
    if (unread + response.body.size() > limits.unread_bytes_max)
        response = refusal(503, "clients read too slowly; come back later");
    const auto status = static_cast<unsigned>(response.status);
    const ResponseHandle handle = library_response(std::move(response), unread);
    if (!handle) return MHD_NO;
    deadlines.expect(connection, Deadlines::Awaited::reading, limits.answer_time_max);
    return MHD_queue_response(connection, status, handle.get());
}

void Server::State::on_completed(void* self, MHD_Connection* connection, void** exchange,
                                 MHD_RequestTerminationCode) {
    const std::unique_ptr<Exchange> owned(static_cast<Exchange*>(*exchange));
    *exchange = nullptr;
    State& state = *static_cast<State*>(self);
    if (owned) state.waiting.erase(owned->number);
    state.deadlines.expect(connection, Deadlines::Awaited::request, state.limits.request_time_max);
}

void Server::State::on_connection(void* self, MHD_Connection* connection, void**,
                                  MHD_ConnectionNotificationCode code) {
    guarded([&] {
        State& state = *static_cast<State*>(self);
        if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
            state.deadlines.end(connection);
        } else if (const auto* info =
                       MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)) {
            state.deadlines.begin(connection, info->connect_fd, state.limits.request_time_max);
        }
        return MHD_YES;
    });
}

// Keeps the last message, which is reported if the start fails. Errors of clients are not logged.
void Server::State::on_complaint(void* self, const char* format, va_list arguments) {
    guarded([&] {
        std::array<char, 256> line{};
        const int length = std::vsnprintf(line.data(), line.size(), format, arguments);
        if (length <= 0) return MHD_NO;
        std::string& last = static_cast<State*>(self)->complaint;
        last = line.data();
        while (!last.empty() && last.back() <= ' ') last.pop_back();
        return MHD_YES;
    });
}

Result<std::unique_ptr<Server>> Server::create(base::EventLoop& loop, const Options& options,
                                               Routes routes) {
    PACE_TRY_ASSIGN(address, parse_address(options.listen));
    PACE_TRY_ASSIGN(rules, read_rules(options, address));
    PACE_TRY_ASSIGN(tls, read_tls(options));
    auto state =
        std::make_unique<State>(loop, options.limits, Gate(std::move(rules), std::move(routes)));
    PACE_TRY(state->start(address, tls));
    return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() = default;

const std::string& Server::url() const {
    return state_->url;
}

Server::Counters Server::counters() const {
    return {.requests = state_->requests,
            .refused = state_->refused,
            .cut_off = state_->deadlines.cut_off(),
            .connections = state_->deadlines.connections()};
}

}  // namespace pace::http
