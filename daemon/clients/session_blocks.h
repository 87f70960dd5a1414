// SessionBlocks: the blocks on GPUs in which one session's small buffers lie
// (device/device_block.h). It owns the numbers by which both sides of the session name a block, and
// counts the session's buffers in each. The buffers own the blocks.
//
//     the first buffer there                            the last one is freed
//     ----------------------->  known to both sides  ----------------------->  forgotten
//
// A block's descriptor goes along with the first packet that names the block. No number names two
// blocks of a session.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "daemon/device/device_block.h"
#include "daemon/runtime/buffer.h"

namespace pace::daemon {

class SessionBlocks {
  public:
    // The greatest number that a client may give a block.
    static constexpr uint64_t kNumberMax = UINT32_MAX;

    // What an answer says of a buffer's place.
    struct Name {
        uint64_t number = 0;  // 0: the buffer has memory of its own
        uint64_t offset = 0;
        uint64_t block_bytes = 0;
        int fd = -1;  // the block's; -1: the client has it
    };

    // A buffer in a gap of a block that was made for this session; null: none is long enough. The
    // buffer has its memory, not cleared, and the charge for its block, and nothing else. The
    // session has it from now on.
    BufferPtr place(const device::Device& device, size_t bytes);
    // The same for memory that lies in the block of this number already; null: the block is on
    // another device, or the memory meets other memory or does not lie in the block.
    BufferPtr place_at(uint64_t number, const device::Device& device, uint64_t offset,
                       size_t bytes);

    // The session has a first buffer in a block, for which its quota was charged so many bytes.
    // Other buffers are placed only in blocks that were made for it: what looks like a gap in
    // another block may be in use by the process that had the block before, or by tensors of the
    // client.
    void add_made(const Buffer& buffer, uint64_t charged);
    // The client has named the block by a number up to kNumberMax that is not known.
    void add_adopted(const Buffer& buffer, uint64_t charged, uint64_t number);
    // The buffer was a dead trainer's. Its block may be known; then nothing was charged.
    void add_inherited(const Buffer& buffer, uint64_t charged);
    // The session does not have the buffer any more. Returns the bytes that were charged for its
    // block if no other buffer of the session lies there, otherwise 0.
    uint64_t remove(const Buffer& buffer);

    bool knows(uint64_t number) const { return blocks_.contains(number); }
    bool has_block_of(const Buffer& buffer) const { return find(buffer) != blocks_.end(); }

    // For the next answer. The client then has the descriptor.
    Name name(const Buffer& buffer);

  private:
    struct Block {
        // The block lives, as the session has buffers there.
        std::weak_ptr<device::DeviceBlock> block;
        const device::DeviceBlock* address = nullptr;
        std::shared_ptr<const Charge> charge;
        uint64_t charged = 0;  // to the session's quota
        uint32_t buffers = 0;
        bool is_made_here = false;
        bool is_named = false;  // the client has the descriptor
    };
    using Blocks = std::map<uint64_t, Block>;  // by number

    Blocks::const_iterator find(const Buffer& buffer) const;
    static BufferPtr place_in(Block& block, std::optional<device::DeviceMemory> memory);
    Block& add(const Buffer& buffer, uint64_t charged, uint64_t number);

    Blocks blocks_;
    uint64_t next_number_ = 1;
};

}  // namespace pace::daemon
