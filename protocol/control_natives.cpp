#include "protocol/control_natives.h"

#include <protocol/control_generated.h>

#include "protocol/control_codec.h"
#include "protocol/message_codec.h"
#include "protocol/option_codec.h"

namespace pace::protocol::messages {

base::Result<> read_native(const wire::JobOptions& table, AskedOptions& ret_options) {
    PACE_TRY_ASSIGN(options, read_job_options(table));
    ret_options = std::move(options);
    return {};
}

flatbuffers::Offset<wire::JobOptions> write_native(flatbuffers::FlatBufferBuilder& builder,
                                                   const AskedOptions& options) {
    return write_job_options(builder, options);
}

base::Result<> read_native(const control::Error& table, base::Error& ret_error) {
    const bool is_known = table.kind() >= static_cast<int32_t>(base::ErrorKind::invalid) &&
                          table.kind() <= static_cast<int32_t>(base::ErrorKind::internal);
    ret_error.kind =
        is_known ? static_cast<base::ErrorKind>(table.kind()) : base::ErrorKind::internal;
    codec::Room room;
    return codec::read_verbatim(room, table.message(), kReasonBytesMax, ret_error.message);
}

flatbuffers::Offset<control::Error> write_native(flatbuffers::FlatBufferBuilder& builder,
                                                 const base::Error& error) {
    const auto message = codec::write_text(builder, error.message, kReasonBytesMax);
    return control::CreateError(builder, static_cast<int32_t>(error.kind), message);
}

}  // namespace pace::protocol::messages
