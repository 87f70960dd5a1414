// Recordings: documents of what the flight recorder holds, for files and for other nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace pace::daemon {

class Recordings {
  public:
    virtual ~Recordings() = default;

    // Writes what the recorder holds to a file. The reason is one word.
    virtual void keep(std::string_view reason) = 0;

    // Calls `made` later, on the loop, with a document of at most `bytes_max`: the records from
    // number `from` on. Does not call it if too many parts are being made already.
    using Made = std::function<void(const std::string& json)>;
    virtual void make_part(uint64_t from, size_t bytes_max, Made made) = 0;

    // Keeps nothing and makes nothing.
    static Recordings& none();
};

}  // namespace pace::daemon
