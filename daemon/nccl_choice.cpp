#include "daemon/nccl_choice.h"

#include <algorithm>
#include <cstdlib>

#include "daemon/device/nccl/nccl_library.h"

namespace pace::daemon {

void name_networks_for_nccl(const std::string& networks) {
    std::string interfaces;
    for (size_t begin = 0; begin < networks.size();) {
        const size_t end = std::min(networks.find(',', begin), networks.size());
        const std::string name = networks.substr(begin, end - begin);
        begin = end + 1;
        if (name.find(':') != std::string::npos) continue;  // an InfiniBand device and its port
        interfaces += (interfaces.empty() ? "=" : ",") + name;
    }
    if (!interfaces.empty()) setenv("NCCL_SOCKET_IFNAME", interfaces.c_str(), 0);
}

NcclChoice choose_nccl(bool wanted, const device::Devices& gpus) {
    if (!wanted) return {0, "the setting `nccl` is off"};
    if (const std::string absence = gpus.absence(); !absence.empty())
        return {0, "this node uses no GPU: " + absence};
    const auto& library = device::NcclLibrary::get();
    if (!library) return {0, library.error().message};
    return {static_cast<uint32_t>((*library)->version), ""};
}

}  // namespace pace::daemon
