#include "capi/buffer_info.h"

#include <cstring>

namespace pace::capi {
namespace {

// Codes of DLPack's DLDataTypeCode.
constexpr uint8_t kDlUInt = 1;
constexpr uint8_t kDlFloat = 2;
constexpr uint8_t kDlBfloat = 4;

struct TypeWords {
    uint8_t dl_code;
    const char* typestr;  // NumPy's type string
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

}  // namespace

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
    if (inside.restored) info.flags |= PACE_BUFFER_RESTORED;
    if (inside.staged) info.flags |= PACE_BUFFER_STAGED;
    info.twin_bytes = inside.twin_bytes;
    std::strncpy(info.typestr, words.typestr, sizeof(info.typestr) - 1);
    return info;
}

}  // namespace pace::capi
