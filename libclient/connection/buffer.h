// BufferTable: the buffers that a session's handles name.
//
// A handle belongs to this library and outlives any daemon. The table maps a handle to the daemon's
// index and generation. Both change when the session reconnects. The table is not thread-safe: the
// session locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/memory/memfd.h"
#include "base/result.h"
#include "libclient/connection/connection.h"
#include "protocol/types.h"

namespace pace::client {

struct BufferHandle {
    uint64_t session = 0;  // the stamp of the session
    uint32_t index = 0;
    uint32_t generation = 0;
};

// `count` elements of a buffer, from element `first` on. A count of kRest means all elements up to
// the end of the buffer.
inline constexpr uint64_t kRest = UINT64_MAX;
struct Slice {
    BufferHandle buffer;
    uint64_t first = 0;
    uint64_t count = kRest;
};

// Elements [first, first + count) of a buffer. A request in flight names these elements.
struct Claim {
    uint64_t request = 0;
    uint64_t first = 0;
    uint64_t count = 0;

    bool meets(const Claim& other) const {
        return first < other.first + other.count && other.first < first + count;
    }
};

struct Buffer {
    // The generation of the handle. The generation grows when the buffer is freed.
    uint32_t generation = 0;
    bool in_use = false;
    // The session is asking the daemon to free the buffer.
    bool freeing = false;
    // The handle is void. The buffer is freed when the session next talks with the daemon.
    bool released = false;
    std::vector<Claim> claims{};
    protocol::DType type = protocol::DType::f32;
    uint64_t count = 0;
    // The tensors that were made from the buffer share this memory and may live longer.
    std::shared_ptr<base::MappedMemfd> memory;
    // The memory of a buffer on a GPU. Such a buffer has no `memory`.
    std::shared_ptr<GpuMemory> gpu_memory;
    // The trainer's own memory, of which `memory` is a copy. Null means that there is none.
    std::byte* outside = nullptr;
    // The buffer holds the contents of a dead predecessor's buffer.
    bool restored = false;
    HostMemory kind = HostMemory::inherited;
    DaemonBuffer daemon;

    // The copy and the snapshot exist once the buffer was averaged with local progress kept. `copy`
    // is a buffer of the same kind that the daemon averages. Nobody else has its handle. `snapshot`
    // is what `copy` held at first.
    BufferHandle copy;
    std::unique_ptr<std::byte[]> snapshot;

    bool is_staged() const { return outside != nullptr; }
    Gpu* gpu() const { return gpu_memory ? &gpu_memory->gpu() : nullptr; }
    // The memory on the host that the trainer reads and writes.
    std::byte* host_data() { return is_staged() ? outside : memory->data(); }
    void* data() { return gpu_memory ? gpu_memory->data() : host_data(); }
    bool has_copy() const { return copy.generation != 0; }
};

struct BufferInfo {
    protocol::DType type = protocol::DType::f32;
    uint64_t count = 0;
    uint32_t device = 0;  // 0 for the host's memory, otherwise 1 + the ordinal of a GPU
    void* data = nullptr;
    bool restored = false;
    bool staged = false;
    // The size of a second copy of the buffer on the host, for a buffer on a GPU or for memory that
    // is staged.
    uint64_t twin_bytes = 0;
};

// A buffer, and the owner of its memory, which keeps the memory when the buffer is freed. The owner
// is null if nothing of the session can keep the memory: the memory is the trainer's own, or is
// lost with the daemon.
struct SharedBuffer {
    BufferInfo info;
    std::shared_ptr<const void> memory;
};

BufferInfo info_of(Buffer& buffer);
SharedBuffer shared(Buffer& buffer);

bool is_null(BufferHandle handle);

// The memory of a buffer that is no more.
struct RemovedMemory {
    std::shared_ptr<base::MappedMemfd> memory;
    std::shared_ptr<GpuMemory> gpu_memory;
};

class BufferTable {
  public:
    explicit BufferTable(uint64_t stamp) : stamp_(stamp) {}

    // Makes room. The next add() then cannot fail.
    void reserve();
    BufferHandle add(protocol::DType type, uint64_t count, NewBuffer buffer,
                     std::byte* outside = nullptr);

    // Returns the buffer of a handle. Fails with `handle` and a message if the handle is null,
    // freed or of another session.
    base::Result<Buffer*> find(BufferHandle handle);

    // Like find, for a use that needs the buffer idle. Fails with `invalid` while a request in
    // flight names the buffer.
    base::Result<Buffer*> find_idle(BufferHandle handle);

    // Makes the handle void, even while a request names the buffer.
    base::Result<> release(BufferHandle handle);
    // Returns a released buffer that no request in flight names, if there is one.
    std::optional<uint32_t> released_and_idle() const;

    // Frees the buffer. Returns its memory, which is unmapped with the last owner; that may take
    // long.
    RemovedMemory remove(uint32_t index);

    Buffer& at(uint32_t index) { return buffers_[index]; }
    const Buffer& at(uint32_t index) const { return buffers_[index]; }
    std::vector<uint32_t> in_use() const;

  private:
    uint64_t stamp_;
    std::vector<Buffer> buffers_;
};

}  // namespace pace::client
