#include "tests/simulated_gpu/nccl/nccl_sum.h"

#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace pace::simulated_gpu {

using namespace device;  // for NCCL's own names

namespace {

template <typename Element, typename Add>
void add_each(std::vector<std::byte>& total, const std::vector<std::byte>& share, Add add) {
    for (size_t at = 0; at + sizeof(Element) <= total.size(); at += sizeof(Element)) {
        Element a;
        Element b;
        std::memcpy(&a, &total[at], sizeof(a));
        std::memcpy(&b, &share[at], sizeof(b));
        a = add(a, b);
        std::memcpy(&total[at], &a, sizeof(a));
    }
}

}  // namespace

size_t size_of(ncclDataType_t type) {
    switch (type) {
        case ncclFloat16:
        case ncclBfloat16:
            return 2;
        case ncclFloat32:
            return 4;
        case ncclFloat64:
            return 8;
    }
    return 0;
}

void add_share(ncclDataType_t type, std::vector<std::byte>& total,
               const std::vector<std::byte>& share) {
    switch (type) {
        case ncclFloat32:
            return add_each<float>(total, share, [](float a, float b) { return a + b; });
        case ncclFloat64:
            return add_each<double>(total, share, [](double a, double b) { return a + b; });
        case ncclFloat16:
            return add_each<uint16_t>(total, share, [](uint16_t a, uint16_t b) {
                return base::f16_from_float(base::float_from_f16(a) + base::float_from_f16(b));
            });
        case ncclBfloat16:
            return add_each<uint16_t>(total, share, [](uint16_t a, uint16_t b) {
                return base::bf16_from_float(base::float_from_bf16(a) + base::float_from_bf16(b));
            });
    }
}

}  // namespace pace::simulated_gpu
