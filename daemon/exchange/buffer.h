// Buffer: memory that a trainer maps and exchanges work on. Shared: it outlives its trainer while an exchange uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/memfd.h"
#include "protocol/types.h"

namespace pace::daemon {

struct Buffer {
    base::MappedMemfd memory;
    protocol::DType dtype = protocol::DType::f32;
    uint64_t count = 0;

    size_t bytes() const { return count * protocol::size_of(dtype); }
};

using BufferPtr = std::shared_ptr<Buffer>;

}  // namespace pace::daemon
