#include "libclient/connection/joining.h"

#include <utility>

namespace pace::client {

using base::Error;
using base::ErrorKind;
using base::make_error;
using base::Result;
using base::TimePoint;

namespace {

// A daemon that greets but does not answer a join usually waits itself.
constexpr std::string_view kPerhapsWaiting =
    "; it may be waiting for its controller (pacectl doctor tells), or need more time (connect_ms)";

// Adds the job's name to a failure of Join.
Error join_error(const Endpoint& endpoint, const AskedOptions& options, Error error,
                 TimePoint deadline) {
    const bool late = base::now() >= deadline;
    error = settled(std::move(error));
    if (error.kind == ErrorKind::unavailable)
        error.message =
            fmt::format("joining job \"{}\" at {} failed: {}{}", options.name, endpoint.text(),
                        error.message, late ? kPerhapsWaiting : std::string_view());
    return error;
}

}  // namespace

Result<std::shared_ptr<Connection>> connect_and_join(const Endpoint& endpoint,
                                                     const AskedOptions& options,
                                                     const Introduction& who,
                                                     const Patience& patience) {
    auto greeting = greet(endpoint, patience);
    if (!greeting) return settled(std::move(greeting).error());
    auto joined = Connection::join(std::move(*greeting), options, who, patience.deadline,
                                   patience.interruptible);
    if (!joined) return join_error(endpoint, options, std::move(joined).error(), patience.deadline);
    return joined;
}

Result<std::shared_ptr<Connection>> connect_patiently(const Endpoint& endpoint,
                                                      const AskedOptions& options,
                                                      const Introduction& who,
                                                      const Patience& patience) {
    Retry retry(patience.deadline, patience.interruptible);
    auto made = connect_and_join(endpoint, options, who, patience);
    // The workers of the run before may still be dying.
    const auto passes = [&who](ErrorKind kind) {
        return kind == ErrorKind::no_controller ||
               (kind == ErrorKind::taken && !who.run.id.empty());
    };
    while (!made && passes(made.error().kind) && retry.pause()) {
        auto again = connect_and_join(endpoint, options, who, patience);
        if (!again && ran_out(again.error(), patience.deadline)) break;
        made = std::move(again);
    }
    if (retry.interrupted()) return interrupted_error();
    return made;
}

Error settled(Error error) {
    if (error.kind != ErrorKind::corrupt && error.kind != ErrorKind::timeout) return error;
    return make_error(ErrorKind::unavailable, "the daemon is given up: {}", error.message);
}

bool passes_by_itself(ErrorKind kind) {
    return kind == ErrorKind::unavailable || kind == ErrorKind::not_found ||
           kind == ErrorKind::no_controller || kind == ErrorKind::taken;
}

bool ran_out(const Error& error, TimePoint deadline) {
    return error.kind == ErrorKind::unavailable && base::now() >= deadline;
}

}  // namespace pace::client
