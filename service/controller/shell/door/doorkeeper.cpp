#include "service/controller/shell/door/doorkeeper.h"

#include <utility>

namespace pace::controller {

// The reason for a kind of event. Null if nothing is wrong, if the authenticator reports the event
// with the key, or if the connection's end is still to come, with its address.
const char* Doorkeeper::words_for(Kind kind) const {
    switch (kind) {
        case Kind::mechanism:
            return has_keys_ ? "it has no keys, and this controller asks for them; set that "
                               "daemon's curve_server_key_file and curve_secret_file"
                             : "it has keys, and this controller has none; set this controller's "
                               "curve_secret_file, or leave out that daemon's keys";
        case Kind::key:
            return "it expects a controller with another key; that daemon's "
                   "curve_server_key_file is not the public key of this one";
        case Kind::nonsense:
            return "it does not speak as a daemon of Pace does";
        case Kind::too_many:
            return "there are as many connections as there may be (connections_max, or half of "
                   "this process's open files); close some or raise that";
        case Kind::accepted:
        case Kind::connected:
        case Kind::greeted:
        case Kind::refused:
        case Kind::broken_off:
        case Kind::silent:
        case Kind::ended:
        case Kind::left:
            break;
    }
    return nullptr;
}

// The reason for the end of a connection from which no message came. Null if the failure before it
// was reported.
const char* Doorkeeper::words_for_end_after(Kind failure) {
    switch (failure) {
        case Kind::mechanism:
        case Kind::key:
        case Kind::nonsense:
        case Kind::refused:
            return nullptr;
        case Kind::silent:
            return "it did not show a key in time";
        default:
            return "it left before it had said what a daemon of Pace says";
    }
}

std::optional<Doorkeeper::Line> Doorkeeper::on_event(const control_zmq::ConnectionEvent& event,
                                                     base::TimePoint now) {
    if (!event.peer.empty()) last_peer_ = event.peer;
    const char* words = words_for(event.kind);
    if (event.kind == Kind::left)
        words = words_for_end_after(std::exchange(failure_, Kind::greeted));
    else if (event.kind != Kind::accepted)
        failure_ = event.kind;
    if (words == nullptr) return std::nullopt;
    const uint64_t times = repeated_.is_due(last_peer_ + words, now);
    if (times == 0) return std::nullopt;
    return Line{last_peer_, words, times};
}

}  // namespace pace::controller
