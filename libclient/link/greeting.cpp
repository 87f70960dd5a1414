#include "libclient/link/greeting.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/simulation/simulated_process.h"
#include "libclient/link/embedded.h"
#include "protocol/types.h"
#include "protocol/version.h"

namespace pace::client {

using base::Error;
using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

constexpr int kPauseMaxMs = 50;
constexpr size_t kVersionBytesMax = 64;
constexpr protocol::Versions kOurs;

Result<Link> open_link(const Endpoint& endpoint, const Patience& patience) {
    if (endpoint.kind == EndpointKind::unix_socket)
        return Link::connect(endpoint.path, patience.deadline, patience.interruptible);
    PACE_TRY_ASSIGN(socket, connect_embedded(endpoint.path));
    return Link::adopt(std::move(socket));
}

Error version_error(const Endpoint& endpoint, uint32_t version, std::string_view program) {
    return make_error(ErrorKind::version,
                      "the daemon at {} ({}) speaks protocol version {} and this library (libpace "
                      "{}) speaks {}; install the same release of both",
                      endpoint.text(), program, version, PACE_VERSION, in_words(kOurs));
}

Result<Greeting> say_hello(const Endpoint& endpoint, Link link, const Patience& patience) {
    const base::TimePoint deadline = patience.deadline;
    flatbuffers::FlatBufferBuilder builder;
    finish_packet(builder, wire::CreateHelloDirect(builder, kOurs.greatest, "libpace " PACE_VERSION,
                                                   kOurs.least));
    auto sent = link.send(builder, -1, deadline);
    // A daemon that is full refuses the connection and closes it before the greeting. Its reason
    // can be read.
    auto answered = link.receive(sent ? deadline : base::now(), patience.interruptible);
    if (!answered) return sent ? std::move(answered).error() : std::move(sent).error();
    Packet& answer = *answered;

    if (const auto* failed = answer.body<wire::Failed>()) {
        Error error = error_of(*failed);
        if (error.kind == ErrorKind::version)
            error.message = fmt::format("{} (this library, libpace {}, speaks protocol version {})",
                                        error.message, PACE_VERSION, in_words(kOurs));
        return error;
    }
    const auto* welcome = answer.body<wire::Welcome>();
    if (welcome == nullptr)
        return make_error(ErrorKind::corrupt, "the daemon answered hello with message {}",
                          static_cast<int>(answer.type()));
    std::string program = printable(welcome->daemon_version(), kVersionBytesMax);
    if (!kOurs.contain(welcome->version()))
        return version_error(endpoint, welcome->version(), program);
    return Greeting{std::move(link),    printable(welcome->node(), protocol::kNameBytesMax),
                    std::move(program), welcome->generation(),
                    welcome->version(), welcome->stream_words(),
                    welcome->blocks()};
}

// Adds to the error what to do about a daemon that was not reached.
Error explained(const Endpoint& endpoint, Error error) {
    if (endpoint.kind == EndpointKind::embedded) return error;
    switch (error.kind) {
        case ErrorKind::not_found:
        case ErrorKind::unavailable:
            return make_error(error.kind,
                              "no daemon answers at {} ({}); start paced, or set PACE_ENDPOINT to "
                              "the endpoint of one that runs",
                              endpoint.text(), error.message);
        case ErrorKind::denied:
            return make_error(error.kind,
                              "this user may not use the daemon at {} ({}); the socket's group, "
                              "usually pace, may: as root, usermod --append --groups pace USER, "
                              "then log in again",
                              endpoint.text(), error.message);
        default:
            return error;
    }
}

}  // namespace

bool Retry::pause() {
    const base::TimePoint now = base::now();
    if (now >= until_) return false;
    // The last pause ends at `until`, so that a daemon that appears before `until` is found.
    const base::TimePoint ends = std::min(until_, now + std::chrono::milliseconds(pause_ms_));
    interrupted_ = base::wait_on({}, ends) < 0 && errno == EINTR && interruptible_;
    if (interrupted_) return false;
    pause_ms_ = std::min(2 * pause_ms_, kPauseMaxMs);
    return true;
}

Result<Greeting> greet(const Endpoint& endpoint, const Patience& patience) {
    Retry retry(patience.absent_until, patience.interruptible);
    for (;;) {
        Error error;
        if (auto link = open_link(endpoint, patience); !link) {
            error = std::move(link).error();
        } else {
            auto greeting = say_hello(endpoint, std::move(*link), patience);
            if (greeting) return greeting;
            error = std::move(greeting).error();
        }
        // An embedded daemon that fails to start will not start later by itself.
        const bool absent =
            endpoint.kind == EndpointKind::unix_socket &&
            (error.kind == ErrorKind::not_found || error.kind == ErrorKind::unavailable);
        if (absent && retry.pause()) continue;
        if (retry.interrupted()) return interrupted_error();
        return explained(endpoint, std::move(error));
    }
}

}  // namespace pace::client
