// Buffers as tensors of other libraries.
#include "capi/dlpack.h"

#include <memory>

#include "capi/buffer_info.h"
#include "capi/guard.h"
#include "capi/handle.h"

using pace::base::Result;
namespace capi = pace::capi;
namespace client = pace::client;
namespace dlpack = pace::capi::dlpack;

namespace {

// A tensor and the memory that the tensor needs until it is deleted.
template <typename Managed>
struct Tensor {
    Managed managed{};
    int64_t shape = 0;
    int64_t stride = 1;
    std::shared_ptr<const void> memory;
};

void describe(dlpack::DLManagedTensor& /*managed*/) {}
void describe(dlpack::DLManagedTensorVersioned& managed) {
    managed.version = {1, 0};
}

template <typename Managed>
void* new_tensor(const client::SharedBuffer& shared) {
    auto tensor = std::make_unique<Tensor<Managed>>();
    const pace_buffer_info info = capi::info_of(shared.info, sizeof(pace_buffer_info));
    tensor->shape = static_cast<int64_t>(info.count);
    tensor->memory = shared.memory;
    Managed& managed = tensor->managed;
    describe(managed);
    managed.dl_tensor = {.data = info.data,
                         .device = info.device,
                         .ndim = 1,
                         .dtype = {info.dl_type_code, info.dl_type_bits, info.dl_type_lanes},
                         .shape = &tensor->shape,
                         .strides = &tensor->stride,
                         .byte_offset = 0};
    managed.manager_ctx = tensor.get();
    managed.deleter = [](Managed* self) {
        delete static_cast<Tensor<Managed>*>(self->manager_ctx);
    };
    return &tensor.release()->managed;
}

}  // namespace

pace_status pace_buffer_to_dlpack(pace_session* session, pace_buffer buffer, uint32_t major,
                                  void** ret_managed_tensor, pace_error* error) {
    return capi::guard(error, [&]() -> Result<pace_status> {
        PACE_TRY(capi::require(session, "session"));
        PACE_TRY(capi::require(ret_managed_tensor, "ret_managed_tensor"));
        PACE_TRY_ASSIGN(shared, session->session->share_buffer(capi::handle_of(buffer)));
        if (!shared.memory && !shared.info.staged)
            return capi::report(error, PACE_E_UNSUPPORTED,
                                "buffer is on a GPU whose memory goes with the daemon that made "
                                "it, so that no tensor can outlive it; use pace_buffer_get_info");
        *ret_managed_tensor = major == 0 ? new_tensor<dlpack::DLManagedTensor>(shared)
                                         : new_tensor<dlpack::DLManagedTensorVersioned>(shared);
        return PACE_OK;
    });
}
