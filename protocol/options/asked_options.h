// AskedOptions: a job as whoever wants one asks for it, by names and values. What is absent has its default.
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
    // Asks for what differs from the defaults.
    AskedOptions(const JobOptions& options);

    bool operator==(const AskedOptions&) const = default;
};

// What is asked for, with defaults for what is absent; or a sentence that names the first option that is unknown, of another
// kind, out of its bounds, given twice, or without meaning in this job, and what to do. Hints of unknown names are passed over.
// Whether the options make sense together is the controller's to say.
base::Result<JobOptions> read_options(const AskedOptions& asked);

// Every option that counts and is not absent, so that nothing depends on the reader's defaults.
AskedOptions write_options(const JobOptions& options);

// "world 8 (the job has 4), average.alpha 0.5 (the job has 0.9)"; empty if they are equal. Graphs are compared elsewhere.
std::string differences_of(const JobOptions& asked, const JobOptions& of_job);

}  // namespace pace::protocol
