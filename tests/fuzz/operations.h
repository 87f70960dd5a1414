// Operations: what a node has begun with a transport. Each must end exactly once.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "transports/transport.h"

namespace pace::fuzz {

inline void require(bool holds) {
    if (!holds) std::abort();
}

// Bounds so small that a few bytes of input reach them.
template <typename Options>
Options small_options() {
    Options options;
    options.unexpected_bytes_max = 4096;
    options.eager_bytes_max = 64;
    options.segment_bytes = 128;
    return options;
}

class Operations {
  public:
    struct Operation {
        std::vector<std::byte> bytes;
        int ended = 0;

        transports::Completion completion() {
            return [this](const base::Result<>&) { ++ended; };
        }
    };

    // The operation lives as long as this object.
    Operation& begin(size_t bytes) {
        all_.push_back(std::make_unique<Operation>(Operation{std::vector<std::byte>(bytes)}));
        return *all_.back();
    }
    void require_ended() const {
        for (const auto& operation : all_) require(operation->ended == 1);
    }

  private:
    std::vector<std::unique_ptr<Operation>> all_;
};

}  // namespace pace::fuzz
