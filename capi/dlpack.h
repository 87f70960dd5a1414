// The structs of DLPack that hand over a tensor, with the layout of its specification
// (https://dmlc.github.io/dlpack, versions 0.8 and 1.0). The names are DLPack's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "capi/pace.h"

namespace pace::capi::dlpack {

struct DLDataType {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
};

struct DLTensor {
    void* data;
    pace_device device;  // DLDevice has the same fields
    int32_t ndim;
    DLDataType dtype;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
};

struct DLManagedTensor {
    DLTensor dl_tensor;
    void* manager_ctx;
    void (*deleter)(DLManagedTensor* self);
};

struct DLPackVersion {
    uint32_t major;
    uint32_t minor;
};

struct DLManagedTensorVersioned {
    DLPackVersion version;
    void* manager_ctx;
    void (*deleter)(DLManagedTensorVersioned* self);
    uint64_t flags;
    DLTensor dl_tensor;
};

static_assert(sizeof(DLTensor) == 48);
static_assert(offsetof(DLTensor, shape) == 24);
static_assert(offsetof(DLManagedTensor, deleter) == 56);
static_assert(offsetof(DLManagedTensorVersioned, dl_tensor) == 32);

}  // namespace pace::capi::dlpack
