#include "libclient/options/job_options.h"

#include "protocol/options/limits.h"
#include "protocol/options/names.h"
#include "protocol/options/option_table.h"

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

Result<> check_name(const std::string& name) {
    if (name.empty())
        return make_error(ErrorKind::invalid,
                          "job is empty; give the job a name that all of its "
                          "workers use");
    if (name.size() > protocol::kNameBytesMax)
        return make_error(ErrorKind::invalid, "job has {} characters; at most {} are allowed",
                          name.size(), protocol::kNameBytesMax);
    if (!protocol::is_name(name))
        return make_error(ErrorKind::invalid,
                          "job is \"{}\"; use letters, digits, '.', '_' and '-' only", name);
    return {};
}

// Checks that the options stay within the sizes that the daemon reads.
Result<> check_sizes(const AskedOptions& asked) {
    if (asked.values.size() > protocol::kOptionsMax)
        return make_error(ErrorKind::invalid, "{} options are given; give at most {}",
                          asked.values.size(), protocol::kOptionsMax);
    for (const protocol::OptionValue& option : asked.values) {
        if (option.name.empty() || option.name.size() > protocol::kOptionNameBytesMax)
            return make_error(ErrorKind::invalid, "an option's name has {} bytes; use 1 to {}",
                              option.name.size(), protocol::kOptionNameBytesMax);
        const auto* const text = std::get_if<std::string>(&option.value);
        if (text != nullptr && text->size() > protocol::kOptionTextBytesMax)
            return make_error(ErrorKind::invalid, "{} has {} bytes; use at most {}", option.name,
                              text->size(), protocol::kOptionTextBytesMax);
        const auto* const bytes = std::get_if<std::vector<uint8_t>>(&option.value);
        if (bytes != nullptr && bytes->size() > protocol::kOptionBytesMax)
            return make_error(ErrorKind::invalid, "{} has {} bytes; use at most {}", option.name,
                              bytes->size(), protocol::kOptionBytesMax);
    }
    return {};
}

}  // namespace

Result<KnownJob> known_job(const AskedOptions& asked) {
    PACE_TRY(check_name(asked.name));
    if (asked.world == 0 || asked.world > protocol::kWorldMax)
        return make_error(ErrorKind::invalid,
                          "world is {}; give the number of workers of the job, 1 to {}",
                          asked.world, protocol::kWorldMax);
    if (asked.policy.empty() || asked.policy.size() > protocol::kOptionNameBytesMax)
        return make_error(ErrorKind::invalid, "policy has {} characters; use {}",
                          asked.policy.size(), protocol::listed(words_of(protocol::Policy{})));
    PACE_TRY(check_sizes(asked));
    KnownJob job{asked, protocol::find_policy(asked.policy)};
    if (job.policy == nullptr) return job;
    AskedOptions known = asked;
    std::erase_if(known.values, [](const protocol::OptionValue& option) {
        return protocol::find_option(option.name) == nullptr;
    });
    PACE_TRY_ASSIGN(options, protocol::read_options(known));
    job.is_top_k = protocol::is_top_k(options.compression);
    return job;
}

}  // namespace pace::client
