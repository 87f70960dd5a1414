// Describes a buffer in the terms of pace.h and of other libraries.
#pragma once

#include <cstdint>

#include "capi/pace.h"
#include "libclient/session/session.h"

namespace pace::capi {

pace_buffer_info info_of(const client::BufferInfo& inside, uint32_t struct_size);

}  // namespace pace::capi
