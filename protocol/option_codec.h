// Job options between the wire's table (options.fbs) and AskedOptions.
#pragma once

#include <protocol/options_generated.h>

#include "base/result.h"
#include "protocol/options/asked_options.h"

namespace pace::protocol {

// What the sender claims to ask for, within kOptionsMax and the limits of names and values beside it; what is longer is refused.
// Names and texts are printable afterwards. Which options there are is not looked at.
base::Result<AskedOptions> read_job_options(const wire::JobOptions& table_untrusted);

flatbuffers::Offset<wire::JobOptions> write_job_options(flatbuffers::FlatBufferBuilder& builder,
                                                        const AskedOptions& options);

}  // namespace pace::protocol
