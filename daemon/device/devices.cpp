#include "daemon/device/devices.h"

#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/attempt.h"
#include "base/log/daemon_events.h"
#include "base/log/log.h"
#include "daemon/device/device_claim.h"
#include "daemon/device/plugin_loader.h"

namespace pace::device {

using base::ErrorKind;
using base::make_error;
using base::Result;
using base::cuda::CudaDriver;

namespace {

// Returns 13 for a plug-in that is named "CUDA 13.0", and 0 for one that is not built with CUDA.
int cuda_major_of(std::string_view plugin) {
    constexpr std::string_view kPrefix = "CUDA ";
    int major = 0;
    if (plugin.starts_with(kPrefix))
        (void)std::from_chars(plugin.data() + kPrefix.size(), plugin.data() + plugin.size(), major);
    return major;
}

// A driver runs what is built with its own major release of CUDA, or an older one.
Result<> check_driver_runs(const pace_device_plugin_table& plugin, const CudaDriver& driver) {
    const int wanted = cuda_major_of(plugin.name);
    const int major = driver.version / 1000;
    if (wanted <= major) return {};
    return make_error(
        ErrorKind::unavailable,
        "the plug-in is built with {}, which this machine's driver, of CUDA {}, does not run; "
        "install a driver of CUDA {}, or the plug-in that is built with CUDA {}",
        plugin.name, base::cuda::version_text(driver.version), wanted, major);
}

// Whether a device reads and writes the memory of another one directly.
bool reaches(const CudaDriver& driver, const Facts& device, const Facts& other) {
    int can = 0;
    return device.ordinal != other.ordinal &&
           driver.device_can_access_peer(&can, device.ordinal, other.ordinal) ==
               base::cuda::kSuccess &&
           can != 0;
}

}  // namespace

void Devices::look() {
    if (std::exchange(looked_, true)) return;
    if (options_.off) {
        absence_ = "the setting `gpu` is off";
        return;
    }
    const auto& driver = CudaDriver::get();
    if (!driver) {
        absence_ = driver.error().message;
        return;
    }
    driver_ = *driver;
    int count = 0;
    (void)driver_->device_get_count(&count);  // an error means none
    if (count == 0) absence_ = "the NVIDIA driver finds no GPU";
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        auto facts = facts_of(*driver_, ordinal);
        if (facts) {
            Entry& entry = entries_.emplace_back();
            entry.facts = std::move(*facts);
            if (!entry.facts.closed_by_mode.empty())
                entry.refused = base::Error{ErrorKind::not_found, entry.facts.closed_by_mode};
            continue;
        }
        base::log_event(base::events::kGpuUnusable,
                        {{"ordinal", ordinal}, {"reason", facts.error().message}});
        if (entries_.empty()) absence_ = facts.error().message;
    }
    if (!entries_.empty()) absence_.clear();
    for (Entry& entry : entries_)
        for (const Entry& other : entries_)
            if (reaches(*driver_, entry.facts, other.facts))
                entry.peers.push_back(other.facts.id());
}

Result<Device*> Devices::find(const base::cuda::CUuuid& uuid) {
    look();
    if (entries_.empty())
        return make_error(ErrorKind::not_found, "this daemon has no GPU: {}", absence_);
    std::string all;
    for (Entry& entry : entries_) {
        if (std::memcmp(&entry.facts.uuid, &uuid, sizeof(uuid)) == 0) {
            if (!entry.device) open(entry);
            if (entry.device) return entry.device.get();
            return *entry.refused;
        }
        all += (all.empty() ? "" : ", ") + entry.facts.id();
    }
    return make_error(ErrorKind::not_found, "this daemon has no {}; it has {}",
                      base::cuda::text_of(uuid), all);
}

void Devices::open_all() {
    look();
    for (Entry& entry : entries_) {
        if (!entry.facts.closed_by_mode.empty()) continue;
        open(entry);
        if (!entry.device)
            base::log_event(base::events::kGpuNotOpened,
                            {{"device", entry.facts.id()}, {"reason", entry.refused->message}});
    }
}

void Devices::open(Entry& entry) {
    // Not even for a moment: a context of this process would keep the trainer's out.
    if (!entry.facts.closed_by_mode.empty()) return;
    if (entry.refused)
        open_again(entry);
    else
        end_opening(entry, begin_opening(entry.facts));
}

void Devices::open_again(Entry& entry) {
    if (entry.is_opening) return;
    const auto opening = std::make_shared<Opening>(base::out_of_memory(), base::out_of_memory());
    const auto end = scope_.bind([this, &entry, opening] {
        entry.is_opening = false;
        end_opening(entry, std::move(*opening));
    });
    opener_.run([this, &facts = entry.facts, opening, end, post = loop_.poster()] {
        (void)base::attempt([&] { *opening = begin_opening(facts); });
        post(end);
    });
    entry.is_opening = true;
}

Devices::Opening Devices::begin_opening(const Facts& facts) const {
    Opening opening{PrimaryContext::retain(*driver_, facts.ordinal, facts.id()),
                    make_error(ErrorKind::internal, "{} is not open", facts.id())};
    if (!opening.context) return opening;
    const auto scope = opening.context->enter();
    opening.kernels = open_kernels(facts);
    return opening;
}

void Devices::end_opening(Entry& entry, Opening opening) {
    auto device = opening.context
                      ? Device::open(*driver_, entry.facts, std::move(*opening.context), loop_)
                      : opening.context.error();
    if (!device) {
        entry.refused = device.error();
        return;
    }
    entry.refused.reset();
    entry.device = std::move(*device);
    entry.device->set_failed_handler(options_.failed);
    entry.kernels = std::move(opening.kernels);
    auto claim = claim_device(entry.facts.id());
    if (claim) {
        entry.claim = std::move(*claim);
    } else {
        entry.shared_with = claim.error().message;
        base::log_event(base::events::kGpuShared, {{"reason", entry.shared_with}});
    }
    base::log_info(
        "a GPU is open",
        {{"device", entry.facts.id()}, {"name", entry.facts.name}, {"bytes", entry.facts.bytes}});
    if (!*entry.kernels)
        base::log_event(base::events::kGpuWithoutKernels,
                        {{"device", entry.facts.id()}, {"reason", entry.kernels->error().message}});
}

Result<const pace_device_plugin_table*> Devices::kernels(const Device& device) const {
    for (const Entry& entry : entries_)
        if (entry.device.get() == &device) return *entry.kernels;
    return make_error(ErrorKind::internal, "{} is not of this daemon", device.facts().id());
}

Devices::Kernels Devices::open_kernels(const Facts& facts) const {
    const std::string folder = options_.plugins.empty() ? plugin_folder() : options_.plugins;
    PACE_TRY_ASSIGN(table, open_plugin(folder + "/" + kPluginFile));
    PACE_TRY(check_driver_runs(*table, *driver_));
    const int refused = table->check(facts.ordinal);
    if (refused == 0) return table;
    return make_error(
        ErrorKind::unavailable,
        "the plug-in {} (for compute capabilities {}) does not work with {}, of {}.{}: "
        "{}",
        table->name, table->architectures, facts.name, facts.capability_major,
        facts.capability_minor, table->error_text(refused));
}

std::vector<Devices::Summary> Devices::list() {
    std::vector<Summary> summaries;
    for (const Entry& entry : entries_) {
        Summary& summary = summaries.emplace_back();
        summary.facts = entry.facts;
        summary.peers = entry.peers;
        summary.open = entry.device != nullptr;
        if (entry.refused) summary.refused = entry.refused->message;
        if (!summary.open) continue;
        summary.shared_with = entry.shared_with;
        summary.free_bytes = entry.device->free_bytes_lately();
        if (entry.kernels)
            summary.kernels =
                *entry.kernels ? (**entry.kernels)->name : entry.kernels->error().message;
    }
    return summaries;
}

std::vector<Devices::Known> Devices::known() const {
    std::vector<Known> known;
    for (const Entry& entry : entries_)
        known.push_back({entry.facts.name, entry.facts.bytes, entry.device.get()});
    return known;
}

}  // namespace pace::device
