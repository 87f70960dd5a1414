#include "daemon/device/board.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

namespace pace::device {

using base::cuda::CudaDriver;
using base::cuda::CUdevice;
using base::cuda::CUuuid;

namespace {

// As the kernel writes the number of the machine's present run: hexadecimal digits and hyphens.
constexpr const char* kBootFile = "/proc/sys/kernel/random/boot_id";
constexpr size_t kBootDigits = 16;  // enough to tell machines apart

struct Identity {
    uint64_t machine = 0;
    uint32_t domain = 0;
    uint16_t bus = 0;
    uint16_t device = 0;
};
static_assert(sizeof(Identity) == sizeof(CUuuid));

std::optional<uint64_t> machine_run() {
    std::string text;
    if (!(std::ifstream(kBootFile) >> text)) return std::nullopt;
    std::erase(text, '-');
    text.resize(std::min(text.size(), kBootDigits));
    uint64_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    if (failed != std::errc() || text.size() < kBootDigits) return std::nullopt;
    return number;
}

}  // namespace

std::optional<CUuuid> board_of(const CudaDriver& driver, CUdevice device) {
    const auto machine = machine_run();
    std::array<int, 3> place{};
    const std::array asked = {base::cuda::kAttributePciDomain, base::cuda::kAttributePciBus,
                              base::cuda::kAttributePciDevice};
    for (size_t i = 0; i < place.size(); ++i)
        if (driver.device_get_attribute(&place[i], asked[i], device) != base::cuda::kSuccess)
            return std::nullopt;
    if (!machine) return std::nullopt;
    const Identity identity{*machine, static_cast<uint32_t>(place[0]),
                            static_cast<uint16_t>(place[1]), static_cast<uint16_t>(place[2])};
    CUuuid board{};
    std::memcpy(&board, &identity, sizeof(board));
    return board;
}

}  // namespace pace::device
