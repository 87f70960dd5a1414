#include "daemon/runtime/machine.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "daemon/runtime/memory_room.h"
#include "protocol/options/limits.h"

namespace pace::daemon {

namespace {

using device::Devices;

control::GpuReport report_of(const Devices::Known& gpu) {
    control::GpuReport report{.name = gpu.name, .memory_bytes = gpu.bytes};
    if (gpu.device == nullptr) return report;
    const auto free = gpu.device->free_bytes();
    report.has_used = free.ok();
    if (free) report.used_bytes = gpu.bytes - std::min(gpu.bytes, *free);
    return report;
}

control::MachineReport report_of(const std::vector<Devices::Known>& gpus) {
    const HostMemory memory = host_memory();
    control::MachineReport report{.memory_bytes = memory.bytes,
                                  .available_bytes = memory.available_bytes};
    for (const Devices::Known& gpu : gpus) report.gpus.push_back(report_of(gpu));
    return report;
}

}  // namespace

control::MachineReport Machine::report(base::TimePoint now) {
    std::optional<control::MachineReport> found;
    {
        const std::lock_guard lock(found_->mutex);
        found = std::exchange(found_->report, std::nullopt);
    }
    if (found) is_looking_ = false;
    const bool is_due = !looked_ || now - *looked_ >= kLookEvery;
    // Without memory for it, or a thread, the next heartbeat tries again.
    if (is_due && !is_looking_ && base::attempt([this] { look(); })) {
        is_looking_ = true;
        looked_ = now;
    }
    return found ? std::move(*found) : control::MachineReport{};
}

void Machine::look() {
    std::vector<Devices::Known> gpus;
    if (gpus_ != nullptr) gpus = gpus_->known();
    gpus.resize(std::min(gpus.size(), protocol::kGpusToldMax));
    thread_.run([found = found_, gpus = std::move(gpus)] {
        control::MachineReport report;
        // Without memory for it nothing is told this time.
        (void)base::attempt([&] { report = report_of(gpus); });
        const std::lock_guard lock(found->mutex);
        found->report = std::move(report);
    });
}

}  // namespace pace::daemon
