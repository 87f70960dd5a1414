#include "bench/common/counters.h"

#include <fstream>

namespace pace::bench {

namespace {

// Returns the number after `word_wanted` in a file of words and numbers, or 0 if the word is
// missing.
uint64_t number_after(const char* path, const std::string& word_wanted) {
    std::ifstream file(path);
    std::string word;
    while (file >> word) {
        if (word != word_wanted) continue;
        uint64_t number = 0;
        file >> number;
        return number;
    }
    return 0;
}

}  // namespace

uint64_t peak_rss_bytes() {
    return number_after("/proc/self/status", "VmHWM:") * 1024;
}

uint64_t interface_received_bytes(const std::string& interface) {
    if (interface.empty()) return 0;
    return number_after("/proc/self/net/dev", interface + ":");
}

}  // namespace pace::bench
