/* tensors: buffers as DLPack's tensors, which hold their memory by themselves. */
#include <stdlib.h>

#include "handlers.h"
#include "objects.h"

/* As dlpack.h 1.0 declares them. */
typedef struct DLTensor {
    void* data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor tensor;
    void* context;
    void (*deleter)(struct DLManagedTensor*);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void* context;
    void (*deleter)(struct DLManagedTensorVersioned*);
    uint64_t flags;
    DLTensor tensor;
} DLManagedTensorVersioned;

static const DLTensor* tensor_of(const object* held) {
    return held->major == 0 ? &((const DLManagedTensor*)held->data)->tensor
                            : &((const DLManagedTensorVersioned*)held->data)->tensor;
}

void handle_tensor(command* command) {
    const object* buffer = object_find(BUFFER, command_value(command, "buffer"));
    if (buffer == NULL) return command_broken(command, "no such buffer");
    const uint32_t major = (uint32_t)command_int(command, "major", 0);
    pace_error error;
    void* managed = NULL;
    const pace_status status =
        pace_buffer_to_dlpack(buffer->session, buffer->buffer, major, &managed, &error);
    command_status(command, status, &error);
    if (status != PACE_OK) return;
    object* held = object_make(TENSOR, command_name(command));
    held->data = managed;
    held->major = (int32_t)major;
    const DLTensor* tensor = tensor_of(held);
    command_add(command, " count=%lld code=%u bits=%u", (long long)tensor->shape[0], tensor->code,
                tensor->bits);
}

void handle_read_tensor(command* command) {
    const object* held = object_find(TENSOR, command_name(command));
    if (held == NULL) return command_broken(command, "no such tensor");
    const DLTensor* tensor = tensor_of(held);
    const float* data = (const float*)((const char*)tensor->data + tensor->byte_offset);
    command_add(command, "PACE_OK values=");
    for (int64_t at = 0; at < tensor->shape[0]; ++at)
        command_add(command, "%s%.9g", at == 0 ? "" : ",", (double)data[at]);
}

void handle_free_tensor(command* command) {
    object* held = object_find(TENSOR, command_name(command));
    if (held == NULL) return command_broken(command, "no such tensor");
    if (held->major == 0) {
        DLManagedTensor* managed = held->data;
        managed->deleter(managed);
    } else {
        DLManagedTensorVersioned* managed = held->data;
        managed->deleter(managed);
    }
    held->kind = 0;
    command_add(command, "PACE_OK");
}
