// ForkMark: knows, without a system call, whether this process is a fork of the one that made it.
//
// A forked child shares the session's socket and rings with its parent: two writers on a
// one-producer ring. The mark is a page that the kernel wipes in the child (MADV_WIPEONFORK).
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/result.h"

namespace pace::client {

class ForkMark {
  public:
    ForkMark() = default;
    ForkMark(const ForkMark&) = delete;
    ForkMark& operator=(const ForkMark&) = delete;
    ~ForkMark() {
        if (page_ != nullptr) munmap(const_cast<char*>(page_), page_bytes());
    }

    base::Result<> set() {
        void* page =
            mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) return base::make_errno_error(errno, "map the fork mark");
        page_ = static_cast<volatile char*>(page);
        // A kernel without it (before 4.14) only loses the friendly message.
        (void)madvise(page, page_bytes(), MADV_WIPEONFORK);
        *page_ = 1;
        return {};
    }

    bool in_child() const { return page_ != nullptr && *page_ == 0; }

  private:
    static size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

    volatile char* page_ = nullptr;
};

}  // namespace pace::client
