#include "libclient/requests/operation.h"

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;
using protocol::Verb;

namespace {

Result<> check_family(const Operation& operation, const KnownJob& job) {
    const bool collective = job.is_of(protocol::Family::collective);
    const bool served = job.is_of(protocol::Family::server);
    if (is_served(operation.verb) && !served)
        return make_error(ErrorKind::verb,
                          "job \"{}\" has no parameter server; call pace_{}, or use "
                          "PACE_POLICY_SSP",
                          job.asked.name, collective ? "reduce" : "average");
    if (served && (operation.verb == Verb::average || operation.verb == Verb::reduce))
        return make_error(ErrorKind::verb,
                          "job \"{}\" has a parameter server; call pace_push with updates and "
                          "pace_pull for the model",
                          job.asked.name);
    if (operation.verb == Verb::average && collective)
        return make_error(ErrorKind::verb,
                          "job \"{}\" has policy all-reduce, whose buffers hold gradients; call "
                          "pace_reduce, or pace_sync to average parameters over all members",
                          job.asked.name);
    if (operation.verb == Verb::reduce && !collective)
        return make_error(ErrorKind::verb,
                          "job \"{}\" averages in groups, so that its buffers hold parameters; "
                          "call pace_average, or use PACE_POLICY_ALL_REDUCE for gradients",
                          job.asked.name);
    if (is_local(operation.verb) && !(collective && job.is_top_k))
        return make_error(ErrorKind::verb,
                          "job \"{}\" has no top-k compression, so that nothing is owed; residuals "
                          "are saved and loaded with compression spardl, topka, topkdsa, gtopk or "
                          "oktopk",
                          job.asked.name);
    return {};
}

Result<> check_results(const Operation& operation) {
    if (operation.results.empty()) return {};
    if (!protocol::takes_results(operation.verb))
        return make_error(ErrorKind::invalid,
                          "options->call.results is given, but a {} has no result apart from its "
                          "slices; leave them out",
                          protocol::name_of(operation.verb));
    if (operation.keep_local)
        return make_error(ErrorKind::invalid,
                          "options->call.results is given and options->keep_local is 1, whose "
                          "average goes to where the trainer goes on; leave one of them out");
    if (operation.results.size() != operation.slices.size())
        return make_error(ErrorKind::invalid,
                          "options->call.result_count is {}, but count is {}; give a result for "
                          "each slice, or none",
                          operation.results.size(), operation.slices.size());
    return {};
}

}  // namespace

Result<> check(const Operation& operation, const KnownJob& job) {
    // The daemon judges a policy that this library does not know.
    if (job.policy != nullptr) PACE_TRY(check_family(operation, job));
    if (operation.verb == Verb::broadcast && operation.root >= job.asked.world)
        return make_error(ErrorKind::invalid, "root is {}; it must be less than world, which is {}",
                          operation.root, job.asked.world);
    const bool takes_buffers = protocol::has_buffers(operation.verb);
    if (takes_buffers &&
        (operation.slices.empty() || operation.slices.size() > protocol::kBuffersPerExchangeMax))
        return make_error(ErrorKind::invalid, "count is {}; give 1 to {} slices",
                          operation.slices.size(), protocol::kBuffersPerExchangeMax);
    return check_results(operation);
}

Result<> check_has_groups(const KnownJob& job) {
    if (job.policy == nullptr || job.is_of(protocol::Family::averaging)) return {};
    return make_error(ErrorKind::verb,
                      "job \"{}\" has a policy in which nobody averages in groups; leave out "
                      "pace_announce",
                      job.asked.name);
}

}  // namespace pace::client
