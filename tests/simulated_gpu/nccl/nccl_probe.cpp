// Prints which NCCL a process finds by itself: its version, or why there is none.
#include <cstdio>

#include "daemon/device/nccl/nccl_library.h"

int main() {
    using namespace pace::device;
    const auto& library = NcclLibrary::get();
    std::puts(library ? nccl_version_text((*library)->version).c_str()
                      : library.error().message.c_str());
    return 0;
}
