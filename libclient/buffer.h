// BufferTable: what the session's buffer handles name.
//
// A handle is this library's own and outlives any daemon: the table maps it to the daemon's index
// and generation, which change when the session reconnects. Not thread-safe: the session locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/memfd.h"
#include "base/result.h"
#include "libclient/connection.h"
#include "protocol/types.h"

namespace pace::client {

struct BufferHandle {
    uint64_t session = 0;  // stamp
    uint32_t index = 0;
    uint32_t generation = 0;
};

// `count` elements of a buffer, from `first` on; kRest: to its end.
inline constexpr uint64_t kRest = UINT64_MAX;
struct Slice {
    BufferHandle buffer;
    uint64_t first = 0;
    uint64_t count = kRest;
};

// Elements [first, first + count), which a request in flight names.
struct Claim {
    uint64_t request = 0;
    uint64_t first = 0;
    uint64_t count = 0;

    bool meets(const Claim& other) const {
        return first < other.first + other.count && other.first < first + count;
    }
};

struct Buffer {
    uint32_t generation = 0;  // of the handle; grows when the buffer is freed
    bool in_use = false;
    bool freeing = false;  // a free is being talked over with the daemon
    bool released =
        false;  // its handle is void; it is freed when the session next talks with the daemon
    std::vector<Claim> claims{};
    protocol::DType type = protocol::DType::f32;
    uint64_t count = 0;
    // Shared with the tensors that were made of it, which may live longer.
    std::shared_ptr<base::MappedMemfd> memory;
    std::shared_ptr<GpuMemory> gpu_memory;  // in place of the other
    std::byte* outside =
        nullptr;             // the trainer's own, for which `memory` is a copy; null: there is none
    bool restored = false;   // its contents are those of a predecessor's
    bool temporary = false;  // of the host: no successor gets it
    DaemonBuffer daemon;

    // Once it was averaged with local progress kept: a buffer of the same kind for the daemon, whose handle nobody else
    // has, and what that held at first.
    BufferHandle copy;
    std::unique_ptr<std::byte[]> snapshot;

    bool is_staged() const { return outside != nullptr; }
    Gpu* gpu() const { return gpu_memory ? &gpu_memory->gpu() : nullptr; }
    // What the trainer reads and writes, on the host.
    std::byte* host_data() { return is_staged() ? outside : memory->data(); }
    void* data() { return gpu_memory ? gpu_memory->data() : host_data(); }
    bool has_copy() const { return copy.generation != 0; }
};

class BufferTable {
  public:
    explicit BufferTable(uint64_t stamp) : stamp_(stamp) {}

    // Makes room, so that the next add() cannot fail.
    void reserve();
    BufferHandle add(protocol::DType type, uint64_t count, NewBuffer buffer,
                     std::byte* outside = nullptr);

    // The buffer of a handle. Fails with `handle` and a message for null, freed and foreign ones.
    base::Result<Buffer*> find(BufferHandle handle);

    // As find, for a use that needs the buffer idle: `invalid` while a request in flight names it.
    base::Result<Buffer*> find_idle(BufferHandle handle);

    // Makes the handle void, whatever names it still.
    base::Result<> release(BufferHandle handle);
    // A released buffer that no request in flight names, if there is one.
    std::optional<uint32_t> released_and_idle() const;

    // Frees and unmaps.
    void remove(uint32_t index);

    Buffer& at(uint32_t index) { return buffers_[index]; }
    const Buffer& at(uint32_t index) const { return buffers_[index]; }
    std::vector<uint32_t> in_use() const;

  private:
    uint64_t stamp_;
    std::vector<Buffer> buffers_;
};

}  // namespace pace::client
