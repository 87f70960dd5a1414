#include "service/controller/shell/door/authenticator.h"

#include <sys/epoll.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log/controller_events.h"

namespace pace::controller {

namespace {

// Frames of a request as a ROUTER receives it: route, empty, version, request id, domain, address,
// identity, mechanism, credentials (RFC 27).
constexpr size_t kRequestFrames = 9;
constexpr size_t kRequestId = 3;
constexpr size_t kDomain = 4;
constexpr size_t kAddress = 5;
constexpr size_t kMechanism = 7;
constexpr size_t kCredentials = 8;

std::string_view text_of(const std::vector<std::byte>& frame) {
    return {reinterpret_cast<const char*>(frame.data()), frame.size()};
}

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

base::Result<std::unique_ptr<Authenticator>> Authenticator::create(
    base::EventLoop& loop, std::shared_ptr<control_zmq::Context> context, const Rights& rights) {
    PACE_TRY_ASSIGN(socket, control_zmq::Socket::create(std::move(context),
                                                        control_zmq::SocketType::router, 4096, {}));
    PACE_TRY(socket.bind("inproc://zeromq.zap.01"));
    std::unique_ptr<Authenticator> authenticator(
        new Authenticator(loop, std::move(socket), rights));
    PACE_TRY(loop.watch(authenticator->socket_.fd(), EPOLLIN, [](uint32_t) {}));
    loop.add_poller(authenticator.get());
    return authenticator;
}

Authenticator::Authenticator(base::EventLoop& loop, control_zmq::Socket socket,
                             const Rights& rights)
    : loop_(loop), socket_(std::move(socket)), rights_(rights) {}

Authenticator::~Authenticator() {
    loop_.remove_poller(this);
    loop_.unwatch(socket_.fd());
}

bool Authenticator::poll() {
    bool worked = false;
    while (socket_.receive(message_)) {
        answer();
        worked = true;
    }
    return worked;
}

bool Authenticator::arm() {
    return !socket_.readable();
}

void Authenticator::say_denied(std::string_view address, const std::string& key,
                               const std::string& because) {
    ++denied_;
    const uint64_t times = repeated_.is_due(key, base::now());
    if (times == 0) return;
    base::log_event(base::events::kDaemonKeptOut,
                    {{"from", address}, {"because", because}, {"key", key}, {"times", times}});
}

void Authenticator::answer() {
    if (message_.count != kRequestFrames) return;
    const auto& frames = message_.frames;
    std::string key;
    std::optional<base::Error> refusal =
        base::make_error(base::ErrorKind::denied, "it has no CURVE key");
    if (text_of(frames[kDomain]) == kZapDomain && text_of(frames[kMechanism]) == "CURVE" &&
        frames[kCredentials].size() == control_zmq::KeyBytes{}.size()) {
        control_zmq::KeyBytes bytes{};
        std::copy(frames[kCredentials].begin(), frames[kCredentials].end(), bytes.begin());
        key = control_zmq::PublicKey(bytes).z85();
        refusal = rights_.refusal(key);
    }
    if (refusal) say_denied(text_of(frames[kAddress]), key, refusal->message);
    const std::array<std::span<const std::byte>, 8> reply{
        frames[0],
        {},
        bytes_of("1.0"),
        frames[kRequestId],
        bytes_of(refusal ? "400" : "200"),
        bytes_of(refusal ? "key not in curve_allowed_dir" : "OK"),
        bytes_of(key),
        {}};
    socket_.send_all(reply);
}

}  // namespace pace::controller
