// Scatter-add tests: compare updates of a vector on the device with the same arithmetic on the
// processor, bit by bit.
#include <limits>
#include <set>

#include "daemon/kernels/cuda/tests/test_device.h"
#include "daemon/kernels/cuda/tests/test_elements.h"
#include "daemon/sparse/wire/entries.h"

namespace pace::kernels::cuda {
namespace {

class DeviceScatterAdd : public OnDevice {
  protected:
    std::vector<float> any_floats(size_t count) {
        std::vector<float> floats(count);
        for (float& value : floats) value = any_float(random_);
        return floats;
    }

    // Without indices the update is dense.
    void compare(size_t length, const std::vector<uint32_t>* indices,
                 const std::vector<float>& values, double rate, size_t shift) {
        const std::vector<float> before = any_floats(length);
        std::vector<float> expected = before;
        for (size_t i = 0; i < values.size(); ++i) {
            const size_t index = indices != nullptr ? (*indices)[i] : i;
            // volatile keeps any compiler from fusing the product with the addition.
            volatile float product = static_cast<float>(rate) * values[i];
            if (index < length) expected[index] = sparse::add(expected[index], product);
        }
        const std::vector<uint32_t> none;
        const Guarded<uint32_t> places(std::span<const uint32_t>(indices ? *indices : none), shift);
        const Guarded<float> terms(std::span<const float>(values), shift);
        const Guarded<float> out(std::span<const float>(before), 0);
        pace_device_scatter_add add = {};
        add.count = values.size();
        add.length = length;
        add.indices = indices != nullptr ? places.data() : nullptr;
        add.values = terms.data();
        add.rate = rate;
        add.out = out.data();
        finish(plugin()->scatter_add(&add, stream()));
        // A dense sum makes every NaN canonical. A sparse sum does so only with those NaNs that it
        // touches.
        if (indices == nullptr)
            for (size_t i = 0; i < std::min(length, values.size()); ++i)
                if (expected[i] != expected[i])
                    expected[i] = std::numeric_limits<float>::quiet_NaN();
        ASSERT_TRUE(is_same(out.elements(), expected)) << values.size() << " into " << length;
        ASSERT_TRUE(out.is_intact());
    }

    base::Random random_{5};
};

TEST_F(DeviceScatterAdd, AddsEntriesTimesTheRate) {
    for (const size_t count : {0, 1, 3, 31, 33, 1000, 4097, 50001})
        for (const double rate : {1.0, 0.1, -3.0}) {
            const size_t length = 4 * count + 5;
            std::set<uint32_t> distinct;
            while (distinct.size() < count)
                distinct.insert(static_cast<uint32_t>(random_.below(length)));
            const std::vector<uint32_t> indices(distinct.begin(), distinct.end());
            compare(length, &indices, any_floats(count), rate, count % 2);
        }
}

TEST_F(DeviceScatterAdd, LeavesOutWhatLiesBeyondTheEnd) {
    const std::vector<uint32_t> indices = {0, 7, 9, 10, 11, 0xFFFFFFFFU};
    compare(10, &indices, any_floats(indices.size()), 0.5, 0);
}

TEST_F(DeviceScatterAdd, WithoutIndicesItIsDense) {
    for (const size_t count : {0, 1, 3, 33, 1000, 4097, 1000003})
        for (const size_t shift : {0, 1})
            for (const double rate : {1.0, 0.1}) {
                compare(count, nullptr, any_floats(count), rate, shift);
                compare(count / 2, nullptr, any_floats(count), rate, shift);
                compare(count + 2, nullptr, any_floats(count), rate, shift);
            }
}

}  // namespace
}  // namespace pace::kernels::cuda
