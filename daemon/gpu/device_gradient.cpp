#include "daemon/gpu/device_gradient.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/log/training_events.h"
#include "daemon/sparse/residual/gradient.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using base::cuda::CUdeviceptr;
using protocol::DType;
using sparse::Entries;

namespace {

constexpr size_t kStep = 256;                       // alignment of the parts of the memory
constexpr size_t kEntriesMin = size_t{1} << 16U;    // at least so many can pass at once
constexpr size_t kTileElements = size_t{1} << 20U;  // types other than f32 are summed in tiles
constexpr size_t kWidest = sizeof(double);

}  // namespace

void read_owed(const sparse::Residual& residual, std::span<float> ret_values) {
    const Result<> read = residual.read(ret_values);
    if (read) return;
    base::log_event(base::events::kResidualLost, {{"reason", read.error().message}});
    std::fill(ret_values.begin(), ret_values.end(), 0.0F);
}

// ---------------------------------------------------------------------------------------- memory

Result<std::shared_ptr<DeviceGradient>> DeviceGradient::create(
    device::Device& device, const pace_device_plugin_table& kernels, size_t count,
    size_t chosen_max) {
    std::shared_ptr<DeviceGradient> made(
        new DeviceGradient(device, kernels, count, std::max(chosen_max, kEntriesMin)));
    PACE_TRY_ASSIGN(stream, device.create_stream());
    made->stream_ = stream;
    return made;
}

DeviceGradient::~DeviceGradient() {
    if (stream_ == nullptr) return;
    // After an error some work may still be queued.
    const auto memory = std::make_shared<std::pair<std::optional<device::DeviceMemory>, Scratch>>(
        std::move(memory_), std::move(staging_));
    device_.when_done(stream_, [memory](const Result<>&) {});
    device_.destroy_stream(stream_);
}

Result<> DeviceGradient::take_memory() {
    workspace_bytes_ = kernels_.top_k_workspace(count_, std::min(entries_max_, count_));
    const size_t tile = std::min(count_, kTileElements);
    const std::array<std::pair<CUdeviceptr*, size_t>, 8> places{{
        {&residual_, count_ * sizeof(float)},
        {&gradient_, count_ * sizeof(float)},
        {&indices_, entries_max_ * sizeof(uint32_t)},
        {&values_, entries_max_ * kWidest},
        {&chosen_, sizeof(uint64_t)},
        {&own_, tile * kWidest},
        {&single_, tile * sizeof(float)},
        {&workspace_, workspace_bytes_},
    }};
    size_t bytes = 0;
    for (const auto& [place, size] : places) {
        *place = bytes;
        bytes += device::round_up(size, kStep);
    }
    PACE_TRY_ASSIGN(memory, device::DeviceMemory::create(device_, bytes));
    for (const auto& [place, size] : places) *place += memory.address();
    memory_.emplace(std::move(memory));
    PACE_TRY(staging_.reserve(entries_max_ * (sizeof(uint32_t) + kWidest)));
    (void)staging_.pin(device_);  // copies are slower without
    return {};
}

Result<> DeviceGradient::allocate(std::span<const float> residual) {
    PACE_TRY(take_memory());
    const auto scope = device_.enter();
    const size_t at_once = staging_.size() / sizeof(float);
    for (size_t i = 0; i < residual.size(); i += at_once) {
        const auto piece = residual.subspan(i, std::min(at_once, residual.size() - i));
        std::memcpy(staging_.data(), piece.data(), piece.size_bytes());
        PACE_TRY(to_device(residual_ + i * sizeof(float), staging_.data(), piece.size_bytes()));
        PACE_TRY(wait());
    }
    return {};
}

Result<> DeviceGradient::read(std::span<float> ret_residual) const {
    const auto scope = device_.enter();
    PACE_TRY(to_host(ret_residual.data(), residual_, ret_residual.size_bytes()));
    return wait();
}

float* DeviceGradient::floats(CUdeviceptr address) const {
    return reinterpret_cast<float*>(static_cast<uintptr_t>(address));
}

Result<> DeviceGradient::check(int failed, const char* what) const {
    return check_kernel(kernels_, device_, failed, what);
}

Result<> DeviceGradient::wait() const {
    return device_.driver().check(device_.driver().stream_synchronize(stream_),
                                  "wait for what top-k does on a GPU");
}

Result<> DeviceGradient::to_device(CUdeviceptr to, const void* from, size_t bytes) const {
    return device_.driver().check(device_.driver().copy_to_device(to, from, bytes, stream_),
                                  "copy to a GPU");
}

Result<> DeviceGradient::to_host(void* to, CUdeviceptr from, size_t bytes) const {
    return device_.driver().check(device_.driver().copy_to_host(to, from, bytes, stream_),
                                  "copy from a GPU");
}

// ----------------------------------------------------------------------------------- an exchange

Result<> DeviceGradient::begin(std::vector<DeviceMember> members, const collectives::Layout& layout,
                               std::shared_ptr<device::DeviceMemory> result) {
    status_ = {};
    run_ = std::make_shared<Run>(std::move(members), layout, std::move(result));
    for (const DeviceMember& member : run_->members)
        PACE_TRY(device_.follow(stream_, member.contents->lane->stream()));
    return {};
}

void DeviceGradient::end() {
    if (run_) device_.when_done(stream_, [run = std::move(run_)](const Result<>&) {});
}

void DeviceGradient::form(size_t begin, size_t end) {
    const Work work(working_);
    const auto scope = device_.enter();
    run_->packed.for_each(begin, end,
                          [&](size_t segment, size_t first, size_t count, size_t place) {
                              note(form_piece(segment, first, count, place));
                          });
}

// As sparse::gather_gradient(): the residual is one more addend. For types other than f32, it is
// added in f32 to the members' sum.
Result<> DeviceGradient::form_piece(size_t segment, size_t first, size_t count, size_t place) {
    if (run_->layout.segments()[segment].dtype != DType::f32) {
        for (size_t i = 0; i < count; i += kTileElements)
            PACE_TRY(form_other(segment, first + i, std::min(kTileElements, count - i), place + i));
        return {};
    }
    pace_device_sum sum = sum_of_members(segment, first, count, 1.0);
    add_input(sum, floats(residual_) + place, 1.0);
    add_output(sum, floats(gradient_) + place);
    return check(kernels_.sum(&sum, stream_), "sum");
}

Result<> DeviceGradient::form_other(size_t segment, size_t first, size_t count, size_t place) {
    const double room = sparse::room_for(run_->members.size());
    pace_device_sum own = sum_of_members(segment, first, count, 1.0 / room);
    add_output(own, floats(own_));
    PACE_TRY(check(kernels_.sum(&own, stream_), "sum"));
    const auto widen = conversion(run_->layout.segments()[segment].dtype, DType::f32, count,
                                  floats(own_), floats(single_));
    PACE_TRY(check(kernels_.convert(&widen, stream_), "convert"));
    pace_device_sum sum = sum_of(DType::f32, count, 1.0);
    add_input(sum, floats(single_), room);
    add_input(sum, floats(residual_) + place, 1.0);
    add_output(sum, floats(gradient_) + place);
    return check(kernels_.sum(&sum, stream_), "sum");
}

pace_device_sum DeviceGradient::sum_of_members(size_t segment, size_t first, size_t count,
                                               double scale) const {
    return sum_of(run_->members, run_->layout.segments()[segment], segment, first, count, scale);
}

Entries DeviceGradient::top_k(size_t begin, size_t length, size_t k) {
    Entries chosen;
    if (length == 0 || k == 0) return chosen;
    const Work work(working_);
    const auto scope = device_.enter();
    note(choose(begin, length, k, chosen));
    return chosen;
}

Result<> DeviceGradient::choose(size_t begin, size_t length, size_t k, Entries& ret_entries) {
    k = std::min(k, length);
    const size_t workspace = kernels_.top_k_workspace(length, k);
    if (k > entries_max_ || workspace > workspace_bytes_)
        return base::make_error(ErrorKind::internal,
                                "{} elements of {} are more than were to be chosen on a GPU", k,
                                length);
    const pace_device_top_k call{length,
                                 k,
                                 floats(gradient_) + begin,
                                 reinterpret_cast<uint32_t*>(floats(indices_)),
                                 floats(values_),
                                 reinterpret_cast<uint64_t*>(floats(chosen_)),
                                 nullptr,
                                 floats(workspace_),
                                 workspace_bytes_};
    PACE_TRY(check(kernels_.top_k(&call, stream_), "top-k"));
    PACE_TRY(to_host(staging_.data(), chosen_, sizeof(uint64_t)));
    PACE_TRY(wait());
    uint64_t count = 0;
    std::memcpy(&count, staging_.data(), sizeof(count));
    if (count > k)
        return base::make_error(ErrorKind::internal, "top {} on a GPU chose {} elements", k, count);
    auto* const indices = reinterpret_cast<uint32_t*>(staging_.data());
    auto* const values = reinterpret_cast<float*>(indices + count);
    PACE_TRY(to_host(indices, indices_, count * sizeof(uint32_t)));
    PACE_TRY(to_host(values, values_, count * sizeof(float)));
    PACE_TRY(wait());
    ret_entries.append(indices, values, count);
    return {};
}

// ------------------------------------------------------------------------------ a few elements

// out[indices[i]] = values[i]
Result<> DeviceGradient::put(CUdeviceptr out, size_t length, size_t element_bytes,
                             std::span<const uint32_t> indices, const std::byte* values) {
    for (size_t i = 0; i < indices.size(); i += entries_max_) {
        const size_t count = std::min(entries_max_, indices.size() - i);
        std::byte* const staged = staging_.data() + count * sizeof(uint32_t);
        std::memcpy(staging_.data(), indices.data() + i, count * sizeof(uint32_t));
        std::memcpy(staged, values + i * element_bytes, count * element_bytes);
        PACE_TRY(to_device(indices_, staging_.data(), count * sizeof(uint32_t)));
        PACE_TRY(to_device(values_, staged, count * element_bytes));
        const pace_device_scatter scatter{count,
                                          length,
                                          static_cast<uint32_t>(element_bytes),
                                          0,
                                          reinterpret_cast<const uint32_t*>(floats(indices_)),
                                          floats(values_),
                                          floats(out)};
        PACE_TRY(check(kernels_.scatter(&scatter, stream_), "scatter"));
        PACE_TRY(wait());  // the staged values are overwritten next
    }
    return {};
}

Result<> DeviceGradient::get(size_t begin, std::span<const uint32_t> indices, float* ret_values) {
    for (size_t i = 0; i < indices.size(); i += entries_max_) {
        const size_t count = std::min(entries_max_, indices.size() - i);
        std::memcpy(staging_.data(), indices.data() + i, count * sizeof(uint32_t));
        PACE_TRY(to_device(indices_, staging_.data(), count * sizeof(uint32_t)));
        const pace_device_gather gather{count, count_ - begin,
                                        reinterpret_cast<const uint32_t*>(floats(indices_)),
                                        floats(gradient_) + begin, floats(values_)};
        PACE_TRY(check(kernels_.gather(&gather, stream_), "gather"));
        std::byte* const staged = staging_.data() + count * sizeof(uint32_t);
        PACE_TRY(to_host(staged, values_, count * sizeof(float)));
        PACE_TRY(wait());
        std::memcpy(ret_values + i, staged, count * sizeof(float));
    }
    return {};
}

void DeviceGradient::write(size_t begin, std::span<const uint32_t> indices,
                           std::span<const float> values) {
    const Work work(working_);
    const auto scope = device_.enter();
    note(put(gradient_ + begin * sizeof(float), count_ - begin, sizeof(float), indices,
             std::as_bytes(values).data()));
}

Entries DeviceGradient::add(size_t begin, const Entries& received) {
    Entries before;
    before.indices = received.indices;
    before.values.resize(received.size());
    const Work work(working_);
    const auto scope = device_.enter();
    note(get(begin, before.indices, before.values.data()));
    base::LargeVector<float> after(received.size());
    for (size_t i = 0; i < after.size(); ++i)
        after[i] = sparse::add(before.values[i], received.values[i]);
    note(put(gradient_ + begin * sizeof(float), count_ - begin, sizeof(float), before.indices,
             std::as_bytes(std::span(after)).data()));
    return before;
}

void DeviceGradient::scatter_result(const Entries& entries, double scale) {
    const Work work(working_);
    const auto scope = device_.enter();
    note(scatter(entries, scale));
    note(wait());
}

Result<> DeviceGradient::scatter(const Entries& entries, double scale) {
    const CUdeviceptr out = run_->result->address();
    const collectives::Layout& layout = run_->layout;
    PACE_TRY(device_.driver().check(device_.driver().set_bytes(out, 0, layout.bytes(), stream_),
                                    "clear a result on a GPU"));
    auto next = entries.indices.begin();
    for (size_t s = 0; s < layout.segments().size(); ++s) {
        const collectives::Segment& segment = layout.segments()[s];
        const size_t element_bytes = protocol::size_of(segment.dtype);
        const size_t begin = run_->packed.begin(s);
        std::vector<uint32_t> indices;
        std::vector<std::byte> values;
        for (; next != entries.indices.end() && *next < begin + segment.count; ++next) {
            values.resize(values.size() + element_bytes);
            sparse::store_scaled(segment.dtype, entries.values[next - entries.indices.begin()],
                                 scale, values.data(), indices.size());
            indices.push_back(static_cast<uint32_t>(*next - begin));
        }
        PACE_TRY(put(out + layout.offset(s), segment.count, element_bytes, indices, values.data()));
    }
    return {};
}

}  // namespace pace::daemon
