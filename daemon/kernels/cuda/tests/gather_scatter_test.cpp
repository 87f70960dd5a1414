// Gather and scatter tests: compare indexed reads and writes on the device with those on the
// processor, bit by bit.
#include <set>

#include "daemon/kernels/cuda/tests/test_device.h"
#include "daemon/kernels/cuda/tests/test_elements.h"

namespace pace::kernels::cuda {
namespace {

class DeviceGatherScatter : public OnDevice {
  protected:
    std::vector<uint32_t> any_indices(size_t count, size_t below) {
        std::set<uint32_t> distinct;
        while (distinct.size() < count)
            distinct.insert(static_cast<uint32_t>(random_.below(below)));
        return {distinct.begin(), distinct.end()};
    }
    template <typename Element>
    std::vector<Element> any_elements(size_t count) {
        std::vector<Element> elements(count);
        for (Element& element : elements) element = static_cast<Element>(random_.next());
        return elements;
    }

    template <typename Element>
    void compare_scatter(size_t length, const std::vector<uint32_t>& indices, size_t shift) {
        const auto values = any_elements<Element>(indices.size());
        const auto before = any_elements<Element>(length);
        std::vector<Element> expected = before;
        for (size_t i = 0; i < indices.size(); ++i)
            if (indices[i] < length) expected[indices[i]] = values[i];
        const Guarded<uint32_t> places(std::span<const uint32_t>(indices), shift);
        const Guarded<Element> terms(std::span<const Element>(values), shift);
        const Guarded<Element> out(std::span<const Element>(before), shift);
        const pace_device_scatter scatter = {indices.size(), length,       sizeof(Element), 0,
                                             places.data(),  terms.data(), out.data()};
        finish(plugin()->scatter(&scatter, stream()));
        ASSERT_EQ(out.elements(), expected) << indices.size() << " into " << length;
        ASSERT_TRUE(out.is_intact());
    }

    base::Random random_{6};
};

TEST_F(DeviceGatherScatter, GathersWhatIsThereAndZeroBeyond) {
    for (const size_t count : {0, 1, 3, 31, 33, 1000, 1025, 50001})
        for (const size_t shift : {0, 1}) {
            const size_t length = 3 * count + 1;
            const std::vector<uint32_t> indices = any_indices(count, length + count);
            const auto bits = any_elements<uint32_t>(length);
            std::vector<uint32_t> expected;
            for (const uint32_t index : indices)
                expected.push_back(index < length ? bits[index] : 0);
            const Guarded<uint32_t> places(std::span<const uint32_t>(indices), shift);
            const Guarded<uint32_t> in(std::span<const uint32_t>(bits), shift);
            const std::vector<uint32_t> nothing(count, 0xFFFFFFFFU);
            const Guarded<uint32_t> values(std::span<const uint32_t>(nothing), shift);
            const pace_device_gather gather = {count, length, places.data(),
                                               reinterpret_cast<const float*>(in.data()),
                                               reinterpret_cast<float*>(values.data())};
            finish(plugin()->gather(&gather, stream()));
            ASSERT_EQ(values.elements(), expected) << count << " of " << length;
            ASSERT_TRUE(values.is_intact());
        }
}

TEST_F(DeviceGatherScatter, ScattersElementsOfAllSizesAndLeavesOutWhatLiesBeyond) {
    for (const size_t count : {0, 1, 3, 31, 33, 1000, 1025, 50001})
        for (const size_t shift : {0, 1}) {
            const size_t length = 3 * count + 1;
            const std::vector<uint32_t> indices = any_indices(count, length + count);
            compare_scatter<uint16_t>(length, indices, shift);
            compare_scatter<uint32_t>(length, indices, shift);
            compare_scatter<uint64_t>(length, indices, shift);
        }
}

TEST_F(DeviceGatherScatter, RefusesElementsOfOtherSizes) {
    uint32_t some = 0;
    const pace_device_scatter scatter = {1, 1, 3, 0, &some, &some, &some};
    EXPECT_NE(plugin()->scatter(&scatter, stream()), 0);
}

}  // namespace
}  // namespace pace::kernels::cuda
