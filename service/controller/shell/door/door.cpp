#include "service/controller/shell/door/door.h"

#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "base/local_peer.h"
#include "base/log/controller_events.h"

namespace pace::controller {

Door::Door(base::EventLoop& loop, const ControllerConfig& config, std::function<void()> changed)
    : loop_(loop),
      config_(config),
      changed_(std::move(changed)),
      doorkeeper_(!config.curve_secret_file.empty()) {}

Door::~Door() = default;

base::Result<> Door::open(std::shared_ptr<control_zmq::Context> context,
                          control_zmq::Socket& socket) {
    socket_ = &socket;
    if (config_.curve_secret_file.empty()) return {};
    PACE_TRY_ASSIGN(secret, control_zmq::SecretKey::read(config_.curve_secret_file));
    PACE_TRY(socket.serve_curve(secret));
    if (config_.curve_allowed_dir.empty()) return {};
    PACE_TRY(read_keys(std::move(context)));
    return socket.set_zap_domain(kZapDomain);
}

base::Result<> Door::read_keys(std::shared_ptr<control_zmq::Context> context) {
    PACE_TRY_ASSIGN(read, AllowedKeys::read(config_.curve_allowed_dir, {}));
    if (!read.problems().empty())
        return base::make_error(base::ErrorKind::invalid, "{}", read.problems().front());
    if (read.size() == 0)
        return base::make_error(base::ErrorKind::invalid,
                                "curve_allowed_dir {} holds no *.public file, so no daemon could "
                                "attach; copy the daemons' public keys there",
                                config_.curve_allowed_dir);
    keys_ = std::make_shared<AllowedKeys>(std::move(read));
    PACE_TRY_ASSIGN(created, Authenticator::create(loop_, std::move(context), *this));
    authenticator_ = std::move(created);
    key_watch_ = std::make_unique<KeyWatch>(
        loop_, config_.curve_allowed_dir, keys_,
        [this](const base::Result<KeyWatch::Keys>& keys) { keys_changed(keys); });
    return {};
}

// While a file or the folder cannot be read, the keys that were read before stay.
void Door::keys_changed(const base::Result<KeyWatch::Keys>& read) {
    if (!read) {
        base::log_event(base::events::kKeysNotRead, {{"because", read.error().message}});
        return;
    }
    for (const std::string& problem : (*read)->problems())
        base::log_event(base::events::kKeysNotRead, {{"because", problem}});
    base::log_event(base::events::kKeysRead, {{"path", config_.curve_allowed_dir},
                                              {"keys", (*read)->size()},
                                              {"before", keys_->size()}});
    keys_ = *read;
    changed_();
    close_without_right();
}

// Also closes the connections of tools that have attached no node.
void Door::close_without_right() {
    std::erase_if(speakers_, [this](const auto& speaker) {
        if (!refusal(speaker.second)) return false;
        socket_->monitor()->close_accepted(speaker.first);
        return true;
    });
}

bool Door::hears(const control_zmq::Socket::Message& message) {
    socket_->monitor()->heard(message.descriptor);
    if (!keys_) return is_friend(message);
    if (message.key.empty() || message.descriptor < 0) return true;
    std::string& key = speakers_[message.descriptor];
    if (key != message.key) key = message.key;
    return true;
}

// Whether a message may be heard where no list says whose keys may attach. Where a network is
// listened on, `insecure` has said that everybody may talk. A socket is known by its cookie, since
// ZeroMQ uses descriptors again.
bool Door::is_friend(const control_zmq::Socket::Message& message) {
    if (config_.insecure || message.descriptor < 0) return true;
    uint64_t cookie = 0;
    socklen_t size = sizeof(cookie);
    if (getsockopt(message.descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0) return true;
    const auto known = friends_.find(message.descriptor);
    if (known != friends_.end() && known->second == cookie) return true;
    if (!base::is_from_loopback(message.descriptor))
        return true;  // a Unix socket: its mode decides
    const auto user = base::user_of_peer(message.descriptor);
    if (!user && user.error().kind == base::ErrorKind::not_found) return false;
    if (user && *user != 0 && *user != geteuid()) {
        const std::string who = fmt::format("user {}", *user);
        if (const uint64_t times = repeated_.is_due(who, base::now()))
            base::log_event(base::events::kDaemonKeptOut,
                            {{"from", who},
                             {"because",
                              "it is another user of this machine, and this controller has no "
                              "list of keys; make keys and set curve_allowed_dir, or set "
                              "insecure = true"},
                             {"times", times}});
        socket_->monitor()->close_accepted(message.descriptor);
        return false;
    }
    if (!user && repeated_.is_due("unknown", base::now()) != 0)
        base::log_event(base::events::kLocalUsersUnknown, {{"because", user.error().message}});
    friends_[message.descriptor] = cookie;
    return true;
}

void Door::look() {
    while (const auto event = socket_->monitor()->next()) {
        if (const auto line = doorkeeper_.on_event(*event, base::now()))
            base::log_event(
                base::events::kDaemonKeptOut,
                {{"from", line->from}, {"because", line->because}, {"times", line->times}});
    }
}

std::optional<base::Error> Door::refusal(std::string_view key) const {
    return now().refusal(key);
}

std::optional<base::Error> Door::refusal_of_name(std::string_view key,
                                                 std::string_view name) const {
    return now().refusal_of_name(key, name);
}

bool Door::may_bring(std::string_view key, uint32_t uid) const {
    return now().may_bring(key, uid);
}

}  // namespace pace::controller
