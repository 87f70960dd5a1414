// Floats: shared elements of a model without a copy, and the owner of their memory.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/threads/release_thread.h"

namespace pace::server {

struct Floats {
    std::shared_ptr<const void> keep;
    std::span<const float> elements;

    // `paid` is destroyed with the elements.
    template <typename Paid = int>
    static Floats of(std::vector<float> elements, Paid paid = {}) {
        struct Kept {
            std::vector<float> elements;
            Paid paid;
        };
        const size_t bytes = elements.size() * sizeof(float);
        const auto kept = base::released(Kept{std::move(elements), std::move(paid)}, bytes);
        return {kept, kept->elements};
    }
};

}  // namespace pace::server
