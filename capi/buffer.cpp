// Buffers.
#include <optional>

#include "capi/buffer_info.h"
#include "capi/device.h"
#include "capi/guard.h"
#include "capi/handle.h"
#include "capi/options.h"

using pace::base::ErrorKind;
using pace::base::make_error;
using pace::base::Result;
namespace capi = pace::capi;
namespace client = pace::client;
namespace protocol = pace::protocol;

namespace {

constexpr capi::StructName kBuffer{"options", "PACE_BUFFER_OPTIONS_INIT"};
constexpr capi::StructName kBufferInfo{"info", "PACE_BUFFER_INFO_INIT"};

// Checks that the given fields fit the source and that no other fields are given.
Result<> check_source(const pace_buffer_options& given) {
    if (given.source < PACE_NEW || given.source > PACE_FD)
        return make_error(ErrorKind::invalid,
                          "options->source is {}; use PACE_NEW, PACE_POINTER or PACE_FD",
                          given.source);
    if ((given.flags & ~uint32_t{PACE_MAY_STAGE}) != 0)
        return make_error(ErrorKind::invalid, "options->flags is {:#x}; use PACE_MAY_STAGE, or 0",
                          given.flags);
    if (given.source == PACE_FD && given.fd < 0)
        return make_error(ErrorKind::invalid,
                          "options->fd is {}; with PACE_FD it must be a descriptor of the memory",
                          given.fd);
    const bool has_pointer = given.pointer != nullptr;
    if (has_pointer == (given.source == PACE_POINTER)) return {};
    return make_error(ErrorKind::invalid, "options->pointer is {}; {}",
                      has_pointer ? "given" : "NULL",
                      has_pointer ? "set options->source to PACE_POINTER, or leave it out"
                                  : "with PACE_POINTER it must be the memory's address");
}

// Refuses memory on the host that needs staging, unless the caller allows staging. No process can
// map memory on the host that another process has allocated by itself.
std::optional<pace_status> refuse_staging(const pace_buffer_options& given, bool is_on_gpu,
                                          pace_error* error) {
    if (given.source != PACE_POINTER || is_on_gpu || (given.flags & PACE_MAY_STAGE) != 0) return {};
    return capi::report(error, PACE_E_UNSUPPORTED,
                        "options->flags is 0, and memory that is not a memfd cannot be shared; set "
                        "PACE_MAY_STAGE to have it copied, or give a memfd as PACE_FD");
}

client::Imported imported_of(const pace_buffer_options& given) {
    client::Imported imported;
    if (given.source == PACE_POINTER) imported.pointer = static_cast<std::byte*>(given.pointer);
    if (given.source == PACE_FD) imported.fd = given.fd;
    return imported;
}

}  // namespace

pace_status pace_buffer_create(pace_session* session, int32_t type, uint64_t count,
                               const pace_buffer_options* options, pace_buffer* ret_buffer,
                               void** ret_data, pace_error* error) {
    return capi::guard(error, [&]() -> Result<pace_status> {
        PACE_TRY(capi::require(session, "session"));
        PACE_TRY(capi::require(ret_buffer, "ret_buffer"));
        PACE_TRY(capi::require(ret_data, "ret_data"));
        PACE_TRY_ASSIGN(given, capi::read_optional(options, kBuffer));
        if (type < PACE_F32 || type > PACE_U32)
            return make_error(ErrorKind::invalid,
                              "type is {}; use PACE_F32, PACE_F64, PACE_F16, PACE_BF16 or PACE_U32",
                              type);
        if (const auto refused = capi::refuse_device(given.device, "options->device", error))
            return *refused;
        const auto gpu = capi::gpu_of(given.device);
        PACE_TRY(check_source(given));
        if (const auto refused = refuse_staging(given, gpu.has_value(), error)) return *refused;
        PACE_TRY_ASSIGN(created,
                        session->session->create_buffer(static_cast<protocol::DType>(type), count,
                                                        gpu ? *gpu + 1 : 0, imported_of(given)));
        *ret_buffer = {created.handle.session, created.handle.index, created.handle.generation};
        *ret_data = created.data;
        return PACE_OK;
    });
}

pace_status pace_buffer_get_info(pace_session* session, pace_buffer buffer, pace_buffer_info* info,
                                 pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY(capi::require(session, "session"));
        PACE_TRY(capi::require(info, "info"));
        PACE_TRY(capi::check_size(info->struct_size, kBufferInfo));
        PACE_TRY_ASSIGN(inside, session->session->buffer_info(capi::handle_of(buffer)));
        capi::give(*info, capi::info_of(inside, info->struct_size));
        return {};
    });
}

pace_status pace_buffer_release(pace_session* session, pace_buffer buffer, pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY(capi::require(session, "session"));
        return session->session->release_buffer(capi::handle_of(buffer));
    });
}

pace_status pace_buffer_free(pace_session* session, pace_buffer buffer, pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY(capi::require(session, "session"));
        return session->session->free_buffer(capi::handle_of(buffer));
    });
}
