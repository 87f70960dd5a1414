// How much memory a message of the control plane may take once it is read.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace pace::protocol::codec {

// Memory that what is read from one message may take. A message may refer to one part of itself any number of times, so that its
// size alone does not bound what is made of it.
class Room {
  public:
    static constexpr size_t kBytes = size_t{32} << 20U;

    // `corrupt` when there is less left.
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
