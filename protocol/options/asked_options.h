// AskedOptions: the options with which a job is asked for, as names and values. An absent option
// has its default.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "protocol/options/job_options.h"
#include "protocol/options/option_value.h"

namespace pace::protocol {

struct AskedOptions {
    std::string name;
    uint32_t world = 0;
    std::string policy;
    std::vector<OptionValue> values{};

    AskedOptions() = default;
    AskedOptions(std::string job, uint32_t workers, std::string word)
        : name(std::move(job)), world(workers), policy(std::move(word)) {}
    // Asks for the options that differ from the defaults.
    AskedOptions(const JobOptions& options);

    bool operator==(const AskedOptions&) const = default;
};

// Returns the options that were asked for, with defaults for absent ones. Otherwise fails with a
// sentence that says what to do. The sentence names the first option that is unknown, of another
// kind, out of its bounds, given twice, or without meaning in this job. Hints of unknown names are
// ignored. The controller decides whether the options make sense together.
base::Result<JobOptions> read_options(const AskedOptions& asked);

// Writes every option that counts and is not absent, so that nothing depends on the reader's
// defaults.
AskedOptions write_options(const JobOptions& options);

// Returns the differences as text: "world 8 (the job has 4), average.alpha 0.5 (the job has 0.9)".
// The text is empty if the options are equal. Graphs are compared elsewhere.
std::string differences_of(const JobOptions& asked, const JobOptions& of_job);

}  // namespace pace::protocol
