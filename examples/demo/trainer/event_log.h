// EventLog: one JSON line per exchange. The demo draws its picture of the meetings from these
// lines.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "exchange.h"

namespace demo {

class EventLog {
  public:
    // With an empty path, the log keeps nothing. Throws std::runtime_error.
    explicit EventLog(const std::string& path);

    void write(double seconds, uint64_t step, const Outcome& outcome);

  private:
    struct Closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };

    std::unique_ptr<std::FILE, Closer> file_;
};

}  // namespace demo
