#include "libclient/options/run.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "protocol/types.h"

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;
using wire_rerun = protocol::client::Rerun;

namespace {

bool is_set(const char* text) {
    return text != nullptr && *text != '\0';
}

Result<std::string> checked(const char* given, std::string_view what) {
    // The length is bounded: a text without its terminating zero must not be read to the end of the
    // heap.
    std::string id(given, strnlen(given, protocol::kNameBytesMax + 1));
    const bool is_printable =
        std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (!id.empty() && id.size() <= protocol::kNameBytesMax && is_printable) return id;
    return make_error(ErrorKind::invalid,
                      "{} is \"{}\"; give 1 to {} printable characters without spaces", what, id,
                      protocol::kNameBytesMax);
}

// Makes a launcher's identity fit: cuts it and replaces characters that are not allowed.
std::string fitted(std::string id) {
    if (id.size() > protocol::kNameBytesMax) id.erase(0, id.size() - protocol::kNameBytesMax);
    std::replace_if(
        id.begin(), id.end(), [](char c) { return c <= ' ' || c > '~'; }, '_');
    return id;
}

// torchrun gives the same name to every rendezvous that was given no name. Each agent of torchrun
// counts restarts by itself. The count is therefore not part of the identity, which all workers
// share.
std::string torchrun_id(const Environment& environment) {
    const char* id = environment("TORCHELASTIC_RUN_ID");
    if (!is_set(id) || std::strcmp(id, "none") == 0) return {};
    return fitted(std::string("torchrun-") + id);
}

// A step is one srun. A job that is requeued keeps its number.
std::string slurm_id(const Environment& environment) {
    const char* job = environment("SLURM_JOB_ID");
    if (!is_set(job)) return {};
    std::string id = std::string("slurm-") + job;
    if (const char* step = environment("SLURM_STEP_ID"); is_set(step))
        id += std::string(".") + step;
    if (const char* restarts = environment("SLURM_RESTART_COUNT"); is_set(restarts))
        id += std::string(".restart-") + restarts;
    return fitted(id);
}

}  // namespace

Result<RunIdentity> run_identity(const char* given, bool resume, const Environment& environment) {
    RunIdentity run;
    if (given != nullptr) {
        PACE_TRY_ASSIGN(id, checked(given, "options->run"));
        run = {std::move(id), wire_rerun::never};
    } else if (const char* set = environment("PACE_RUN_ID"); is_set(set)) {
        PACE_TRY_ASSIGN(id, checked(set, "PACE_RUN_ID"));
        run = {std::move(id), wire_rerun::never};
    } else if (std::string torchrun = torchrun_id(environment); !torchrun.empty()) {
        run = {std::move(torchrun), wire_rerun::when_none_lives};
    } else if (std::string slurm = slurm_id(environment); !slurm.empty()) {
        run = {std::move(slurm), wire_rerun::when_none_lives};
    }
    if (resume) run.rerun = wire_rerun::never;
    return run;
}

}  // namespace pace::client
