#include "service/controller/shell/authenticator.h"

#include <sys/epoll.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/controller_events.h"

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

base::Result<std::set<std::string>> read_keys(const std::string& folder) {
    std::set<std::string> keys;
    std::error_code error;
    std::filesystem::directory_iterator entries(folder, error);
    if (error)
        return base::make_error(base::ErrorKind::invalid, "curve_allowed_dir {}: {}", folder,
                                error.message());
    for (const auto& entry : entries) {
        if (entry.path().extension() != ".public") continue;
        PACE_TRY_ASSIGN(key, control_zmq::PublicKey::read(entry.path().string()));
        keys.insert(key.z85());
    }
    if (keys.empty())
        return base::make_error(base::ErrorKind::invalid,
                                "curve_allowed_dir {} holds no *.public file, so no daemon could "
                                "attach; copy the daemons' public keys there",
                                folder);
    return keys;
}

}  // namespace

base::Result<std::unique_ptr<Authenticator>> Authenticator::create(
    base::EventLoop& loop, std::shared_ptr<control_zmq::Context> context,
    const std::string& keys_folder) {
    PACE_TRY_ASSIGN(keys, read_keys(keys_folder));
    PACE_TRY_ASSIGN(socket, control_zmq::Socket::create(std::move(context),
                                                        control_zmq::SocketType::router, 4096, {}));
    PACE_TRY(socket.bind("inproc://zeromq.zap.01"));
    std::unique_ptr<Authenticator> authenticator(
        new Authenticator(loop, std::move(socket), std::move(keys)));
    PACE_TRY(loop.watch(authenticator->socket_.fd(), EPOLLIN, [](uint32_t) {}));
    loop.add_poller(authenticator.get());
    return authenticator;
}

Authenticator::Authenticator(base::EventLoop& loop, control_zmq::Socket socket,
                             std::set<std::string> allowed)
    : loop_(loop), socket_(std::move(socket)), allowed_(std::move(allowed)) {}

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

void Authenticator::say_denied(std::string_view address, const std::string& key) {
    ++denied_;
    const uint64_t times = repeated_.is_due(key, base::now());
    if (times == 0) return;
    base::log_event(base::events::kDaemonKeptOut,
                    {{"from", address},
                     {"because",
                      "its key is not in curve_allowed_dir; copy that daemon's "
                      ".public file there, and start this controller again"},
                     {"key", key},
                     {"times", times}});
}

void Authenticator::answer() {
    if (message_.count != kRequestFrames) return;
    const auto& frames = message_.frames;
    bool allowed = text_of(frames[kDomain]) == kZapDomain &&
                   text_of(frames[kMechanism]) == "CURVE" &&
                   frames[kCredentials].size() == control_zmq::KeyBytes{}.size();
    std::string key;
    if (allowed) {
        control_zmq::KeyBytes bytes{};
        std::copy(frames[kCredentials].begin(), frames[kCredentials].end(), bytes.begin());
        key = control_zmq::PublicKey(bytes).z85();
        allowed = allowed_.contains(key);
    }
    if (!allowed) say_denied(text_of(frames[kAddress]), key);
    const std::array<std::span<const std::byte>, 8> reply{
        frames[0],
        {},
        bytes_of("1.0"),
        frames[kRequestId],
        bytes_of(allowed ? "200" : "400"),
        bytes_of(allowed ? "OK" : "key not in curve_allowed_dir"),
        {},
        {}};
    socket_.send_all(reply);
}

}  // namespace pace::controller
