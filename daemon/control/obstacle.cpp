#include "daemon/control/obstacle.h"

namespace pace::daemon::control {

using base::Duration;
using base::Error;
using base::ErrorKind;
using base::TimePoint;
using Kind = control_zmq::ConnectionEvent::Kind;

namespace {

// ZeroMQ retries a connection several times within this.
constexpr Duration kNoConnection = std::chrono::seconds(1);
constexpr Duration kProbeInterval = std::chrono::seconds(5);

// How much the outcome of a connection tells. The value 0 stands for a working connection, which
// makes earlier outcomes obsolete.
int detail(Kind kind) {
    switch (kind) {
        case Kind::accepted:
        case Kind::connected:
        case Kind::ended:
        case Kind::left:
        case Kind::too_many:
            return 0;
        case Kind::broken_off:
        case Kind::silent:
        case Kind::nonsense:
            return 1;
        case Kind::mechanism:
        case Kind::key:
        case Kind::refused:
        case Kind::greeted:
            return 2;
    }
    return 0;
}

}  // namespace

void Obstacle::begin(TimePoint now) {
    since_ = now;
    outcome_.reset();
}

void Obstacle::on_event(const control_zmq::ConnectionEvent& event, TimePoint now) {
    outcome_at_ = now;
    // A controller that refused, or greeted, was there. So the end of that connection, or the
    // failure of another, is news. The beginning of the connection is none: ZeroMQ may report it
    // after the refusal.
    const bool is_beginning = event.kind == Kind::connected || event.kind == Kind::greeted;
    const bool is_news =
        (refusal_ && !is_beginning) || (event.kind == Kind::ended && outcome_ == Kind::greeted);
    if (is_news) {
        refusal_.reset();
        begin(now);
    }
    if (event.kind == Kind::ended) return;
    // An outcome that tells less does not replace the former one: it depends on which side closes
    // first which of the two is seen.
    if (outcome_ && detail(event.kind) < detail(*outcome_)) return;
    outcome_ = event.kind;
}

void Obstacle::on_refused(const Error& refusal, TimePoint now) {
    const bool is_known = refusal_ && refusal_->message == refusal.message;
    refusal_ = refusal;
    if (!is_known) repeated_.is_due(refusal.message, now);
}

bool Obstacle::is_turned_away() const {
    return outcome_ && detail(*outcome_) > 0 && *outcome_ != Kind::greeted;
}

bool Obstacle::never_connects(TimePoint now) const {
    return !outcome_ || (*outcome_ != Kind::greeted && now - outcome_at_ > 3 * kNoConnection);
}

std::optional<Obstacle::Complaint> Obstacle::look(TimePoint now) {
    // An outcome that is not seen any more is replaced by what is found now.
    const bool probe_is_due = outcome_.has_value() || now - probed_at_ >= kProbeInterval;
    if (never_connects(now) && now - since_ >= kNoConnection && probe_is_due) {
        outcome_.reset();
        probed_at_ = now;
        if (const auto where = control_zmq::parse_tcp(config_.endpoint); where)
            probe_.begin(*where);
    }
    if (now - since_ < kPatience) return std::nullopt;
    Error because = reason();
    if (repeated_.is_due(because.message, now) == 0) return std::nullopt;
    return Complaint{std::move(because), now - since_};
}

std::optional<Error> Obstacle::problem(TimePoint now) const {
    if (!refusal_ && now - since_ < kPatience) return std::nullopt;
    return reason();
}

Error Obstacle::reason() const {
    if (refusal_) return *refusal_;
    return base::make_error(ErrorKind::no_controller, "no controller at {}: {}", config_.endpoint,
                            words());
}

std::string Obstacle::words() const {
    constexpr const char* kElsewhere =
        "start pace-controller there, or correct this daemon's `controller` setting";
    if (!outcome_) {
        const auto found = probe_.found();
        if (found && !found->empty()) return fmt::format("{}; {}", *found, kElsewhere);
        return fmt::format("no connection yet; {}", kElsewhere);
    }
    switch (*outcome_) {
        case Kind::mechanism:
        case Kind::key:
        case Kind::refused:
            return words_of_keys(*outcome_);
        case Kind::broken_off:
            return words_of_an_end();
        case Kind::nonsense:
            return fmt::format("what listens there is no controller; {}", kElsewhere);
        case Kind::accepted:
        case Kind::connected:
        case Kind::greeted:
        case Kind::silent:
        case Kind::ended:
        case Kind::left:
        case Kind::too_many:
            break;
    }
    return fmt::format("what listens there does not answer: its process may be stopped; {}",
                       kElsewhere);
}

// Which outcome is seen depends on which side closes first. A controller whose keys do not match
// also ends the connection.
std::string Obstacle::words_of_an_end() const {
    if (config_.secret_key_file.empty())
        return "what listens there ends the connection: it asks for keys, and this daemon has "
               "none, or it is no "
               "controller; set curve_server_key_file and curve_secret_file (`pacectl keygen` "
               "makes keys), or correct "
               "this daemon's `controller` setting";
    return fmt::format(
        "what listens there ends the connection: it does not have the key of {}, or the controller "
        "has none; name the "
        "file with the public key of the controller in this daemon's curve_server_key_file, or set "
        "the controller's "
        "curve_secret_file",
        config_.controller_key_file);
}

std::string Obstacle::words_of_keys(Kind kind) const {
    if (kind == Kind::refused)
        return fmt::format(
            "it does not let the key of {} in; copy the .public file beside it into "
            "the controller's curve_allowed_dir (`pacectl key add`)",
            config_.secret_key_file);
    if (kind == Kind::key)
        return fmt::format(
            "it does not have the key of {}; name the file with the public key of "
            "the controller in this daemon's curve_server_key_file",
            config_.controller_key_file);
    if (config_.secret_key_file.empty())
        return "it asks for keys, and this daemon has none; set curve_server_key_file and "
               "curve_secret_file (`pacectl keygen` makes keys)";
    return "this daemon has keys, and the controller has none; set the controller's "
           "curve_secret_file, or leave out this daemon's curve_server_key_file and "
           "curve_secret_file";
}

}  // namespace pace::daemon::control
