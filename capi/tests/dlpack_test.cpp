// Buffers as tensors. The tensors outlive the buffers.
#include "capi/dlpack.h"

#include <string>

#include <gtest/gtest.h>

#include "capi/tests/pace_fixture.h"
#include "libclient/memory/staging.h"

namespace pace::capi {
namespace {

using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;

class DlpackTest : public PaceFixture {
  protected:
    template <typename Managed>
    Managed* tensor_of(pace_buffer buffer, uint32_t major) {
        void* managed = nullptr;
        EXPECT_EQ(pace_buffer_to_dlpack(session_, buffer, major, &managed, &error_), PACE_OK)
            << error_.message;
        return static_cast<Managed*>(managed);
    }
    static void expect_floats(const dlpack::DLTensor& tensor) {
        EXPECT_EQ(tensor.ndim, 1);
        EXPECT_EQ(tensor.shape[0], 64);
        EXPECT_EQ(tensor.strides[0], 1);
        EXPECT_EQ(tensor.byte_offset, 0U);
        EXPECT_EQ(tensor.dtype.code, 2);
        EXPECT_EQ(tensor.dtype.bits, 32);
        EXPECT_EQ(tensor.dtype.lanes, 1);
        EXPECT_EQ(tensor.device.type, PACE_DEVICE_CPU);
        EXPECT_EQ(tensor.device.id, 0);
    }
};

TEST_F(DlpackTest, ATensorIsTheBuffersMemory) {
    start();
    const pace_buffer buffer = make_buffer();
    pace_buffer_info info = PACE_BUFFER_INFO_INIT;
    ASSERT_EQ(pace_buffer_get_info(session_, buffer, &info, &error_), PACE_OK);
    auto* const plain = tensor_of<DLManagedTensor>(buffer, 0);
    auto* const versioned = tensor_of<DLManagedTensorVersioned>(buffer, 1);
    expect_floats(plain->dl_tensor);
    expect_floats(versioned->dl_tensor);
    EXPECT_EQ(plain->dl_tensor.data, info.data);
    EXPECT_EQ(versioned->dl_tensor.data, info.data);
    EXPECT_EQ(versioned->version.major, 1U);
    EXPECT_EQ(versioned->flags, 0U);
    plain->deleter(plain);
    versioned->deleter(versioned);
    EXPECT_TRUE(client::is_writable(info.data, 64 * sizeof(float))) << "the buffer is still there";
}

TEST_F(DlpackTest, ATensorKeepsTheMemoryWhenItsBufferAndSessionAreGone) {
    start();
    const pace_buffer buffer = make_buffer();
    auto* const first = tensor_of<DLManagedTensor>(buffer, 0);
    auto* const second = tensor_of<DLManagedTensorVersioned>(buffer, 2);
    auto* const data = static_cast<float*>(first->dl_tensor.data);
    data[63] = 7;
    ASSERT_EQ(pace_buffer_free(session_, buffer, &error_), PACE_OK) << error_.message;
    EXPECT_EQ(data[63], 7);
    first->deleter(first);
    pace_session_free(session_);
    session_ = nullptr;
    EXPECT_EQ(data[63], 7);
    EXPECT_TRUE(client::is_writable(data, 64 * sizeof(float)));
    second->deleter(second);
    EXPECT_FALSE(client::is_writable(data, 64 * sizeof(float))) << "nobody needs it";
}

TEST_F(DlpackTest, WhatIsNoBufferIsNoTensor) {
    start();
    const pace_buffer buffer = make_buffer();
    void* managed = &error_;
    expect_invalid(pace_buffer_to_dlpack(session_, buffer, 0, nullptr, &error_),
                   "ret_managed_tensor");
    expect_invalid(pace_buffer_to_dlpack(nullptr, buffer, 0, &managed, &error_), "session");
    ASSERT_EQ(pace_buffer_free(session_, buffer, &error_), PACE_OK);
    EXPECT_EQ(pace_buffer_to_dlpack(session_, buffer, 0, &managed, &error_), PACE_E_HANDLE);
    EXPECT_EQ(managed, &error_) << "nothing was changed";
}

}  // namespace
}  // namespace pace::capi
