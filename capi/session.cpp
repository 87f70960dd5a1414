// Sessions.
#include <cmath>

#include "capi/guard.h"
#include "capi/handle.h"
#include "capi/options.h"
#include "capi/session_options.h"

using pace::base::ErrorKind;
using pace::base::make_error;
using pace::base::Result;
namespace capi = pace::capi;
namespace client = pace::client;
namespace protocol = pace::protocol;

namespace {

constexpr capi::StructName kSessionInfo{"info", "PACE_SESSION_INFO_INIT"};
constexpr capi::StructName kProgress{"progress", "PACE_PROGRESS_INIT"};

pace_session_info info_of(const client::SessionInfo& inside, uint32_t struct_size) {
    pace_session_info info{};
    info.struct_size = struct_size;
    info.rank = inside.rank;
    info.world = inside.world;
    info.run_state = !inside.under_way ? PACE_RUN_NEW
                     : inside.deserted ? PACE_RUN_RESUMED
                                       : PACE_RUN_UNDER_WAY;
    info.generation = inside.generation;
    capi::copy_text(info.job, inside.job);
    capi::copy_text(info.node, inside.node);
    capi::copy_text(info.run, inside.run);
    info.run_began = inside.began;
    return info;
}

Result<client::Progress> read_progress(const pace_progress& given) {
    constexpr uint32_t kKnown =
        uint32_t{PACE_PROGRESS_LOSS} | uint32_t{PACE_PROGRESS_RATE} | uint32_t{PACE_PROGRESS_STEPS};
    if (given.flags == 0 || (given.flags & ~kKnown) != 0)
        return make_error(ErrorKind::invalid,
                          "progress->flags is {:#x}; use one or more of PACE_PROGRESS_LOSS, "
                          "PACE_PROGRESS_RATE and PACE_PROGRESS_STEPS, for the fields that are "
                          "given",
                          given.flags);
    client::Progress told;
    if ((given.flags & PACE_PROGRESS_LOSS) != 0) told.loss = given.loss;
    if ((given.flags & PACE_PROGRESS_STEPS) != 0) {
        if (given.steps_total == 0)
            return make_error(ErrorKind::invalid,
                              "progress->steps_total is 0; give a number above 0, or leave out "
                              "PACE_PROGRESS_STEPS");
        told.steps_done = given.steps_done;
        told.steps_total = given.steps_total;
    }
    if ((given.flags & PACE_PROGRESS_RATE) == 0) return told;
    if (!std::isfinite(given.samples_per_s) || given.samples_per_s <= 0)
        return make_error(ErrorKind::invalid,
                          "progress->samples_per_s is {}; give a number above 0, or leave out "
                          "PACE_PROGRESS_RATE",
                          given.samples_per_s);
    told.samples_per_s = given.samples_per_s;
    return told;
}

}  // namespace

pace_status pace_session_open(const pace_session_options* options, pace_session** ret_session,
                              pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY(capi::require(options, "options"));
        PACE_TRY(capi::require(ret_session, "ret_session"));
        PACE_TRY_ASSIGN(asked, capi::read_session(options));
        PACE_TRY_ASSIGN(session, client::Session::open(asked.endpoint, asked.job, asked.rank,
                                                       asked.connect, asked.run, asked.by_signals));
        *ret_session = new pace_session{std::move(session)};
        return {};
    });
}

pace_status pace_session_leave(pace_session* session, int64_t timeout_ms, pace_error* error) {
    return capi::guard(error, [&]() -> Result<pace_status> {
        PACE_TRY(capi::require(session, "session"));
        PACE_TRY_ASSIGN(deadline, capi::deadline_of(timeout_ms));
        PACE_TRY_ASSIGN(answered, session->session->leave(deadline));
        if (answered) return PACE_OK;
        return capi::report(error, PACE_TIMEOUT,
                            "the daemon has been told that the worker leaves, and has not answered "
                            "in time; the session is over");
    });
}

void pace_session_free(pace_session* session) {
    capi::guard(nullptr, [&]() -> Result<> {
        delete session;
        return {};
    });
}

pace_status pace_session_get_info(pace_session* session, pace_session_info* info,
                                  pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY(capi::require(session, "session"));
        PACE_TRY(capi::require(info, "info"));
        PACE_TRY(capi::check_size(info->struct_size, kSessionInfo));
        PACE_TRY_ASSIGN(inside, session->session->info());
        capi::give(*info, info_of(inside, info->struct_size));
        return {};
    });
}

pace_status pace_session_get_fd(pace_session* session, int* ret_fd, pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY(capi::require(session, "session"));
        PACE_TRY(capi::require(ret_fd, "ret_fd"));
        PACE_TRY_ASSIGN(fd, session->session->ready_fd());
        *ret_fd = fd;
        return {};
    });
}

pace_status pace_session_report(pace_session* session, const pace_progress* progress,
                                pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY(capi::require(session, "session"));
        PACE_TRY(capi::require(progress, "progress"));
        PACE_TRY_ASSIGN(given, capi::read_optional(progress, kProgress));
        PACE_TRY_ASSIGN(told, read_progress(given));
        return session->session->report(told);
    });
}
