// Sessions and buffers.
#include <algorithm>
#include <cstring>

#include "capi/device.h"
#include "capi/guard.h"
#include "capi/handle.h"
#include "capi/options.h"
#include "capi/session_options.h"

using pace::base::ErrorKind;
using pace::base::make_error;
using pace::base::Result;
namespace capi = pace::capi;
namespace client = pace::client;
namespace protocol = pace::protocol;

namespace {

constexpr capi::StructName kBuffer{"options", "PACE_BUFFER_OPTIONS_INIT"};
constexpr capi::StructName kBufferInfo{"info", "PACE_BUFFER_INFO_INIT"};
constexpr capi::StructName kSessionInfo{"info", "PACE_SESSION_INFO_INIT"};

pace_session_info info_of(const client::SessionInfo& inside, uint32_t struct_size) {
    pace_session_info info{};
    info.struct_size = struct_size;
    info.rank = inside.rank;
    info.world = inside.world;
    info.under_way = inside.under_way ? 1 : 0;
    info.generation = inside.generation;
    capi::copy_text(info.job, inside.job);
    capi::copy_text(info.node, inside.node);
    capi::copy_text(info.run, inside.run);
    info.run_began = inside.began;
    return info;
}

// Of DLPack's DLDataTypeCode, and of NumPy's type strings.
constexpr uint8_t kDlUInt = 1;
constexpr uint8_t kDlFloat = 2;
constexpr uint8_t kDlBfloat = 4;

struct TypeWords {
    uint8_t dl_code;
    const char* typestr;
};

TypeWords words_of(protocol::DType type) {
    switch (type) {
        case protocol::DType::f32:
            return {kDlFloat, "<f4"};
        case protocol::DType::f64:
            return {kDlFloat, "<f8"};
        case protocol::DType::f16:
            return {kDlFloat, "<f2"};
        case protocol::DType::bf16:
            return {kDlBfloat, ""};
        case protocol::DType::u32:
            return {kDlUInt, "<u4"};
    }
    return {0, ""};
}

pace_buffer_info info_of(const client::BufferInfo& inside, uint32_t struct_size) {
    pace_buffer_info info{};
    info.struct_size = struct_size;
    info.type = static_cast<int32_t>(inside.type);
    info.count = inside.count;
    info.data = inside.data;
    info.device = {PACE_DEVICE_CPU, 0};
    if (inside.device != 0)
        info.device = {PACE_DEVICE_CUDA, static_cast<int32_t>(inside.device - 1)};
    const TypeWords words = words_of(inside.type);
    info.dl_type_code = words.dl_code;
    info.dl_type_bits = static_cast<uint8_t>(8 * protocol::size_of(inside.type));
    info.dl_type_lanes = 1;
    std::strncpy(info.typestr, words.typestr, sizeof(info.typestr) - 1);
    return info;
}

}  // namespace

pace_status pace_session_open(const pace_session_options* options, pace_session** ret_session,
                              pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY(capi::require(options, "options"));
        PACE_TRY(capi::require(ret_session, "ret_session"));
        PACE_TRY_ASSIGN(asked, capi::read_session(options));
        PACE_TRY_ASSIGN(session, client::Session::open(asked.endpoint, asked.job, asked.rank,
                                                       asked.connect, asked.run, asked.by_signals));
        *ret_session = new pace_session{std::move(session)};
        return {};
    });
}

pace_status pace_session_leave(pace_session* session, int64_t timeout_ms, pace_error* error) {
    return capi::guard(error, [&]() -> Result<pace_status> {
        PACE_TRY(capi::require(session, "session"));
        PACE_TRY_ASSIGN(deadline, capi::deadline_of(timeout_ms));
        PACE_TRY_ASSIGN(answered, session->session->leave(deadline));
        if (answered) return PACE_OK;
        return capi::report(error, PACE_TIMEOUT,
                            "the daemon has been told that the worker leaves, and has not answered "
                            "in time; the session is over");
    });
}

void pace_session_free(pace_session* session) {
    capi::guard(nullptr, [&]() -> Result<> {
        delete session;
        return {};
    });
}

pace_status pace_session_get_info(pace_session* session, pace_session_info* info,
                                  pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY(capi::require(session, "session"));
        PACE_TRY(capi::require(info, "info"));
        PACE_TRY(capi::check_size(info->struct_size, kSessionInfo));
        PACE_TRY_ASSIGN(inside, session->session->info());
        capi::give(*info, info_of(inside, info->struct_size));
        return {};
    });
}

pace_status pace_session_get_fd(pace_session* session, int* ret_fd, pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY(capi::require(session, "session"));
        PACE_TRY(capi::require(ret_fd, "ret_fd"));
        PACE_TRY_ASSIGN(fd, session->session->ready_fd());
        *ret_fd = fd;
        return {};
    });
}

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
        PACE_TRY_ASSIGN(created, session->session->create_buffer(static_cast<protocol::DType>(type),
                                                                 count, gpu ? *gpu + 1 : 0));
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
        capi::give(*info, info_of(inside, info->struct_size));
        return {};
    });
}

pace_status pace_buffer_free(pace_session* session, pace_buffer buffer, pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY(capi::require(session, "session"));
        return session->session->free_buffer(capi::handle_of(buffer));
    });
}
