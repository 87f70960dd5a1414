#include "daemon/kernels/scan.h"

// Everything from here to HWY_ONCE is compiled once per instruction set, because this file includes
// itself.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/kernels/scan.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pace::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

size_t scan(const float* values, size_t count, uint32_t first_index, uint32_t key_min,
            uint32_t* ret_indices, float* ret_values) {
    const hn::ScalableTag<float> single;
    const hn::RebindToSigned<decltype(single)> word;
    const hn::RebindToUnsigned<decltype(single)> index;
    const size_t lanes = hn::Lanes(single);
    const auto magnitude = hn::Set(word, 0x7FFFFFFF);
    // Keys are below 2^31. So signed comparison, which every processor has, orders them.
    const auto below = hn::Set(word, static_cast<int32_t>(key_min) - 1);
    size_t found = 0;
    size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const auto value = hn::LoadU(single, values + i);
        const auto chosen = hn::Gt(hn::And(hn::BitCast(word, value), magnitude), below);
        // Few elements are chosen, so most vectors end here.
        if (HWY_LIKELY(hn::AllFalse(word, chosen))) continue;
        const auto places = hn::Iota(index, first_index + static_cast<uint32_t>(i));
        // The code compresses in a register and stores whole vectors, because a compressing store
        // is slow on some processors.
        hn::StoreU(hn::Compress(places, hn::RebindMask(index, chosen)), index, ret_indices + found);
        hn::StoreU(hn::Compress(value, hn::RebindMask(single, chosen)), single, ret_values + found);
        found += hn::CountTrue(word, chosen);
    }
    for (; i < count; ++i) {
        if (magnitude_key(values[i]) < key_min) continue;
        ret_indices[found] = first_index + static_cast<uint32_t>(i);
        ret_values[found] = values[i];
        ++found;
    }
    return found;
}

}  // namespace HWY_NAMESPACE
}  // namespace pace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace pace::kernels {

HWY_EXPORT(scan);

static_assert(kScanSlack >= HWY_MAX_BYTES / sizeof(float));

size_t scan_at_least(const float* values, size_t count, uint32_t first_index, uint32_t key_min,
                     uint32_t* ret_indices, float* ret_values) {
    return HWY_DYNAMIC_DISPATCH(scan)(values, count, first_index, key_min, ret_indices, ret_values);
}

}  // namespace pace::kernels

#endif  // HWY_ONCE
