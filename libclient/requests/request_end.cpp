#include "libclient/requests/request_end.h"

#include <algorithm>

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

uint64_t staleness_of(const Request& request, const RequestEnd& end) {
    const bool counts = request.keeps_local && end.local_iteration != 0 &&
                        end.entry.outcome == protocol::Outcome::done;
    return counts ? end.local_iteration - request.iteration : 0;
}

}  // namespace

Result<> check_progress(const Request& request, const RequestEnd* end) {
    if (!request.keeps_local || end == nullptr || end->local_iteration == 0 ||
        end->local_iteration >= request.iteration)
        return {};
    return make_error(ErrorKind::invalid,
                      "options->local_iteration is {}, but the average was called at iteration {}; "
                      "give the iteration that the worker has reached, or 0",
                      end->local_iteration, request.iteration);
}

void fill(RequestEnd& end, Request& request) {
    end.verb = request.verb;
    end.user_data = request.user_data;
    end.entry = request.end.entry;
    end.contents = request.contents;
    end.staleness = staleness_of(request, end);
    end.entry.iteration += end.staleness;
    auto& members = request.end.members;
    std::sort(members.begin(), members.end(),
              [](const auto& a, const auto& b) { return a.rank < b.rank; });
    const size_t count = std::min(members.size(), end.room.size());
    std::copy_n(members.begin(), count, end.room.begin());
    end.listed = static_cast<uint32_t>(count);
}

}  // namespace pace::client
