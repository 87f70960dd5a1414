// RawClient: a connection to a daemon that sends whatever a test wants, packet by packet, without
// the library's rules. It closes without a message, as a trainer that dies does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "libclient/link/link.h"
#include "protocol/options/choices.h"

namespace pace::cluster {

class RawClient {
  public:
    // Connects and greets. Records GoogleTest failures if that does not work. refusal() then tells
    // why.
    explicit RawClient(const std::string& socket);
    // Does the same as another user, if this process may become one.
    static RawClient as_user(const std::string& socket, uint32_t user);

    // Returns the daemon's last refusal. Empty means that there is none.
    const std::string& refusal() const { return refusal_; }

    // Joins as the worker of a job of one.
    bool join(const std::string& job, protocol::Policy policy = protocol::Policy::all_reduce,
              uint64_t elements = 0);

    struct Buffer {
        base::UniqueFd fd;
        bool restored = false;
    };
    // Creates a buffer of floats. With `adopt`, the buffer's memory comes from this process.
    // Returns nothing if the daemon refuses.
    std::optional<Buffer> create_buffer(uint64_t count, int adopt = -1);

    // What a client asks for on a GPU, and what it is told.
    struct GpuWish {
        uint64_t request = 4;
        std::vector<uint8_t> device;  // the bytes of its number
        uint64_t count = 1;
        bool takes_place = false;
        int adopt = -1;
        uint64_t block = 0;
        uint64_t block_bytes = 0;
        uint64_t offset = 0;
    };
    struct GpuBuffer {
        base::UniqueFd fd;
        uint32_t index = 0;
        bool restored = false;
        uint64_t bytes = 0;
        uint64_t block = 0;
        uint64_t offset = 0;
    };
    std::optional<GpuBuffer> create_gpu_buffer(const GpuWish& wish);
    bool free_buffer(uint32_t index, bool keeps_place = false);
    // Only ask, so that several requests are under way. Each then has a number of its own.
    bool ask_gpu_buffer(const GpuWish& wish);
    bool ask_free(uint32_t index, bool keeps_place = false);
    // Returns the next packet. Returns nothing if the packet is a refusal, or the daemon has hung
    // up.
    std::optional<client::Packet> receive();

    // Asks for the daemon's document, and does not wait. Returns false if the daemon has hung up,
    // or does not read.
    bool ask_document();
    // Asks for the document and reads it.
    std::string document();

    // Reads until the daemon hangs up. Returns true if the daemon does. refusal() is then its last
    // message.
    bool hung_up();

  private:
    explicit RawClient(base::Result<client::Link> link);
    template <typename Body>
    bool send(flatbuffers::FlatBufferBuilder& builder, flatbuffers::Offset<Body> body, int fd = -1);

    std::optional<client::Link> link_;
    std::string refusal_;
};

}  // namespace pace::cluster
