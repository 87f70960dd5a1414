// Converts job options between the wire's table (options.fbs) and AskedOptions.
#pragma once

#include <protocol/options_generated.h>

#include "base/result.h"
#include "protocol/options/asked_options.h"

namespace pace::protocol {

// Returns the options that the sender claims to ask for. Fails if there are more than kOptionsMax,
// or if a name or a value is longer than the limits beside it. Names and texts are printable
// afterwards. The function does not check whether the options exist.
base::Result<AskedOptions> read_job_options(const wire::JobOptions& table_untrusted);

flatbuffers::Offset<wire::JobOptions> write_job_options(flatbuffers::FlatBufferBuilder& builder,
                                                        const AskedOptions& options);

}  // namespace pace::protocol
