// Limits the memory of a control message that is read.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace pace::protocol::codec {

// The memory that the values read from one message may still take. A message may refer to one of
// its parts any number of times. The message's size alone therefore does not bound the memory.
class Room {
  public:
    static constexpr size_t kBytes = size_t{32} << 20U;

    // Fails with `corrupt` if fewer bytes are left.
    base::Result<> take(size_t bytes) {
        if (bytes > left_)
            return base::make_error(base::ErrorKind::corrupt,
                                    "a control message would take more than {} bytes", kBytes);
        left_ -= bytes;
        return {};
    }

  private:
    size_t left_ = kBytes;
};

}  // namespace pace::protocol::codec
