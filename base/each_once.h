// sort_each_once(): a list becomes a set that is still a vector.
#pragma once

#include <algorithm>
#include <vector>

namespace pace::base {

// In ascending order, equal values once.
template <typename Value>
void sort_each_once(std::vector<Value>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace pace::base
