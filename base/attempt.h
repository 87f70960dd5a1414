// attempt: runs a call that may find no memory. Code that runs a callback on behalf of one client,
// one job or one peer runs the callback through attempt(). Then only that client, job or peer
// suffers from the missing memory.
#pragma once

#include <new>
#include <stdexcept>
#include <utility>

#include "base/result.h"

namespace pace::base {

// The text is so short that it needs no heap memory itself.
inline Error out_of_memory() {
    return {ErrorKind::memory, "out of memory"};
}

// Returns false if `work` found no memory, or asked for more elements than a container can hold.
// The work that was already done by then is not undone.
template <typename Work>
[[nodiscard]] bool attempt(Work&& work) {
    try {
        std::forward<Work>(work)();
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    } catch (const std::length_error&) {
        return false;
    }
}

}  // namespace pace::base
