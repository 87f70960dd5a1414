// Reads and writes the tables of the control plane that have their own C++ types.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include "base/result.h"
#include "protocol/options/asked_options.h"

namespace pace::protocol {

namespace wire {
struct JobOptions;
}
namespace control {
struct Error;
}

namespace messages {

// The same as read_job_options() and write_job_options().
base::Result<> read_native(const wire::JobOptions& table, AskedOptions& ret_options);
flatbuffers::Offset<wire::JobOptions> write_native(flatbuffers::FlatBufferBuilder& builder,
                                                   const AskedOptions& options);

// Error kinds of later versions become `internal`. Long messages are cut.
base::Result<> read_native(const control::Error& table, base::Error& ret_error);
flatbuffers::Offset<control::Error> write_native(flatbuffers::FlatBufferBuilder& builder,
                                                 const base::Error& error);

}  // namespace messages

}  // namespace pace::protocol
