// ByteReader: bytes in order, from a file or from memory, that nobody vouches for.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace pace::server {

class ByteReader {
  public:
    virtual ~ByteReader() = default;

    // Exactly so many. ErrorKind::corrupt if there are fewer, or these are not what was written.
    virtual base::Result<> read(std::span<std::byte> bytes) = 0;
    // ErrorKind::corrupt if anything follows.
    virtual base::Result<> finish() = 0;
    // For errors.
    virtual const std::string& name() const = 0;
};

}  // namespace pace::server
