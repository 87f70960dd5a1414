// ByteReader: untrusted bytes, read in order from a file or from memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace pace::server {

class ByteReader {
  public:
    virtual ~ByteReader() = default;

    // Reads exactly bytes.size() bytes. Error: corrupt, if there are fewer bytes, or if the bytes
    // are not those that were written.
    virtual base::Result<> read(std::span<std::byte> bytes) = 0;
    // Checks that no bytes follow. Error: corrupt, if more bytes follow.
    virtual base::Result<> finish() = 0;
    // Returns the name of the source, for errors.
    virtual const std::string& name() const = 0;
};

}  // namespace pace::server
