// attempt: a call for which there may be no memory. Whoever calls back on behalf of somebody, a client, a job or a peer, calls so: then
// only that one pays.
#pragma once

#include <new>
#include <stdexcept>
#include <utility>

#include "base/result.h"

namespace pace::base {

// So short that it needs no memory itself.
inline Error out_of_memory() {
    return {ErrorKind::memory, "out of memory"};
}

// False: there was no memory, or for more elements than there can be. What `work` had done by then is left as it was.
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
