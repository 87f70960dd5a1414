// ForkMark: tells, without a system call, whether this process is a fork of the process that made
// the mark.
//
// A forked child shares the session's socket and rings with its parent. Two processes would then
// write to a ring that allows one producer. The mark is a page that the kernel wipes in the child
// (MADV_WIPEONFORK).
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
        // On a kernel without MADV_WIPEONFORK (before 4.14) only the friendly error message is
        // lost.
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
