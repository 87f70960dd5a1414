// RawClient: a connection to a daemon that says whatever a test wants, packet by packet, without the library's manners. It goes without a
// word, as a trainer that dies does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "libclient/link.h"
#include "protocol/options/choices.h"

namespace pace::cluster {

class RawClient {
  public:
    // Connected, and greeted. GoogleTest failures if that does not work; see refusal().
    explicit RawClient(const std::string& socket);
    // The same as another user, if this process may become one.
    static RawClient as_user(const std::string& socket, uint32_t user);

    // What the daemon has refused last; empty: nothing.
    const std::string& refusal() const { return refusal_; }

    // As the worker of a job of one.
    bool join(const std::string& job, protocol::Policy policy = protocol::Policy::all_reduce,
              uint64_t elements = 0);

    struct Buffer {
        base::UniqueFd fd;
        bool restored = false;
    };
    // Of floats. With `adopt`, memory that this process brings. None if it is refused.
    std::optional<Buffer> create_buffer(uint64_t count, int adopt = -1);

    // Asks for the daemon's document, and does not wait. False: the daemon has hung up, or does not read.
    bool ask_document();
    // Asks and reads.
    std::string document();

    // Reads until the daemon hangs up. True if it does; refusal() is its last word.
    bool hung_up();

  private:
    explicit RawClient(base::Result<client::Link> link);
    template <typename Body>
    bool send(flatbuffers::FlatBufferBuilder& builder, flatbuffers::Offset<Body> body, int fd = -1);
    // The next packet; none if it is a refusal, or the daemon has hung up.
    std::optional<client::Packet> receive();

    std::optional<client::Link> link_;
    std::string refusal_;
};

}  // namespace pace::cluster
