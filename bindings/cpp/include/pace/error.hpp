// error: failures as exceptions, a class for each status. Absent under -fno-exceptions.
#pragma once

#include <pace/failure.hpp>

#if defined(__cpp_exceptions)

#include <stdexcept>
#include <string>

namespace pace {

// Base of all exceptions of this library. what() is the status's name and the message.
class error : public std::runtime_error {
  public:
    explicit error(const failure& why)
        : std::runtime_error(std::string(name(why.status())) + ": " + why.message()), why_(why) {}

    // As a failure's members of the same names.
    pace::status status() const noexcept { return why_.status(); }
    const char* message() const noexcept { return why_.message(); }
    const char* argument() const noexcept { return why_.argument(); }
    bool has_ended() const noexcept { return why_.has_ended(); }
    const request_info& info() const noexcept { return why_.info(); }
    const failure& why() const noexcept { return why_; }

  private:
    failure why_;
};

// The exception for one status. A status that a later libpace adds is thrown as pace::error.
template <status Which>
class error_of : public error {
  public:
    using error::error;
};

// Outcomes that a trainer handles.
using timeout_error = error_of<status::timeout>;  // leave(): the daemon has not answered in time
using aborted_error =
    error_of<status::aborted>;  // ended by a failure elsewhere: call the verb again
using canceled_error = error_of<status::canceled>;  // cancel() asked for it
using stale_error =
    error_of<status::stale>;  // the job went on: broadcast() gives the current model
using interrupted_error =
    error_of<status::interrupted>;  // a signal came, where an option asked to be told

// Faults.
using invalid_error =
    error_of<status::invalid>;  // an argument or option is wrong: argument() names it
using handle_error = error_of<status::handle>;  // a handle that is freed, collected or foreign
using verb_error = error_of<status::verb>;      // the verb does not fit the job's policy
using mismatch_error =
    error_of<status::mismatch>;  // workers disagree: options, buffers, order of verbs
using not_found_error = error_of<status::not_found>;  // no such daemon, job, file or device
using taken_error = error_of<status::taken>;          // the rank or name is in use
using version_error = error_of<status::version>;      // the daemon speaks another protocol version
using daemon_gone_error =
    error_of<status::daemon_gone>;  // info().buffers_hold() says what buffers hold
using no_controller_error =
    error_of<status::no_controller>;            // the daemon cannot reach its controller
using limit_error = error_of<status::limit>;    // a quota of the daemon, or of this process
using memory_error = error_of<status::memory>;  // too little memory, of this process or shared
using disk_error = error_of<status::disk>;      // no room on a disk that must record this
using denied_error = error_of<status::denied>;  // not permitted for this user
using closed_error =
    error_of<status::closed>;  // the session has left, or what it belonged to is over
using internal_error = error_of<status::internal>;  // a defect of Pace: please report it
using refused_error = error_of<status::refused>;    // what the request named was refused
using unsupported_error =
    error_of<status::unsupported>;  // this build has no such device or feature

// Throws the exception for a failure's status.
[[noreturn, gnu::cold, gnu::noinline]] inline void raise(
    const failure& why) {  // NOLINT(readability-function-size): a table of exceptions
    switch (why.status()) {
        case status::timeout:
            throw timeout_error(why);
        case status::aborted:
            throw aborted_error(why);
        case status::canceled:
            throw canceled_error(why);
        case status::stale:
            throw stale_error(why);
        case status::interrupted:
            throw interrupted_error(why);
        case status::invalid:
            throw invalid_error(why);
        case status::handle:
            throw handle_error(why);
        case status::verb:
            throw verb_error(why);
        case status::mismatch:
            throw mismatch_error(why);
        case status::not_found:
            throw not_found_error(why);
        case status::taken:
            throw taken_error(why);
        case status::version:
            throw version_error(why);
        case status::daemon_gone:
            throw daemon_gone_error(why);
        case status::no_controller:
            throw no_controller_error(why);
        case status::limit:
            throw limit_error(why);
        case status::memory:
            throw memory_error(why);
        case status::disk:
            throw disk_error(why);
        case status::denied:
            throw denied_error(why);
        case status::closed:
            throw closed_error(why);
        case status::internal:
            throw internal_error(why);
        case status::refused:
            throw refused_error(why);
        case status::unsupported:
            throw unsupported_error(why);
        case status::ok:
        case status::pending:
        default:
            throw error(why);
    }
}

namespace detail {
[[noreturn, gnu::cold, gnu::noinline]] inline void raise(const pace_error& error) {
    pace::raise(failure(error));
}
[[noreturn, gnu::cold, gnu::noinline]] inline void raise(const pace_error& error,
                                                         const request_info& info) {
    pace::raise(failure(error, info));
}
}  // namespace detail

}  // namespace pace

#endif
