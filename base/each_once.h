// sort_each_once(): makes a vector a sorted set.
#pragma once

#include <algorithm>
#include <vector>

namespace pace::base {

// Sorts the values in ascending order and keeps each value once.
template <typename Value>
void sort_each_once(std::vector<Value>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace pace::base
