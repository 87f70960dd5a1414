#include "base/cuda/stream_words.h"

namespace pace::base::cuda {

Result<StreamWords> StreamWords::create(const CudaDriver& driver, uint32_t slots) {
    PACE_TRY_ASSIGN(memory, MappedMemfd::create("pace-streams", slots * sizeof(SlotWords), true));
    return register_with(driver, slots, std::move(memory));
}

Result<StreamWords> StreamWords::adopt(const CudaDriver& driver, UniqueFd fd, uint32_t slots) {
    PACE_TRY_ASSIGN(memory, MappedMemfd::adopt(std::move(fd), slots * sizeof(SlotWords)));
    return register_with(driver, slots, std::move(memory));
}

Result<StreamWords> StreamWords::register_with(const CudaDriver& driver, uint32_t slots,
                                               MappedMemfd memory) {
    StreamWords words(driver, slots, std::move(memory));
    std::byte* const data = words.memory_.data();
    PACE_TRY(driver.check(
        driver.mem_host_register(data, words.memory_.size(), kRegisterPortable | kRegisterMapped),
        "register words for streams"));
    const CUresult found = driver.mem_host_device_pointer(&words.address_, data, 0);
    if (found == kSuccess) return words;
    (void)driver.mem_host_unregister(data);
    return driver.error(found, "find words for streams on the device");
}

StreamWords::~StreamWords() {
    if (address_ != 0) (void)driver_->mem_host_unregister(memory_.data());
}

}  // namespace pace::base::cuda
