// Merge tests: compare merged lists with the result of sparse::sum. The indices and the bits must
// be the same.
#include <set>
#include <string>

#include "daemon/kernels/cuda/tests/test_device.h"
#include "daemon/kernels/cuda/tests/test_elements.h"
#include "daemon/sparse/wire/entries.h"

namespace pace::kernels::cuda {
namespace {

using sparse::Entries;

class DeviceMerge : public OnDevice {
  protected:
    Entries any_entries(size_t count, uint64_t range) {
        std::set<uint32_t> indices;
        while (indices.size() < count) indices.insert(static_cast<uint32_t>(random_.below(range)));
        Entries entries;
        for (const uint32_t index : indices) entries.push_back(index, any_float(random_));
        return entries;
    }

    void compare(const Entries& a, const Entries& b, size_t shift) {
        SCOPED_TRACE(std::to_string(a.size()) + " and " + std::to_string(b.size()));
        const Entries expected = sparse::sum(a, b);
        const Guarded<uint32_t> a_indices(std::span<const uint32_t>(a.indices), shift);
        const Guarded<float> a_values(std::span<const float>(a.values), shift);
        const Guarded<uint32_t> b_indices(std::span<const uint32_t>(b.indices), 0);
        const Guarded<float> b_values(std::span<const float>(b.values), 0);
        const Guarded<uint32_t> out_indices(a.size() + b.size(), shift);
        const Guarded<float> out_values(a.size() + b.size(), 0);
        const Guarded<uint64_t> out_count(1, 0);
        const size_t workspace_bytes = plugin()->merge_workspace(a.size(), b.size());
        const Guarded<std::byte> workspace(workspace_bytes, 0);
        pace_device_merge merge = {};
        merge.a_count = a.size();
        merge.b_count = b.size();
        merge.a_indices = a_indices.data();
        merge.a_values = a_values.data();
        merge.b_indices = b_indices.data();
        merge.b_values = b_values.data();
        merge.out_indices = out_indices.data();
        merge.out_values = out_values.data();
        merge.out_count = out_count.data();
        merge.workspace = workspace.data();
        merge.workspace_bytes = workspace_bytes;
        finish(plugin()->merge(&merge, stream()));
        ASSERT_EQ(out_count.elements(), std::vector<uint64_t>{expected.size()});
        ASSERT_TRUE(is_same(out_indices.first(expected.size()), expected.indices));
        ASSERT_TRUE(is_same(out_values.first(expected.size()), expected.values));
        ASSERT_TRUE(out_indices.is_intact() && out_values.is_intact() && out_count.is_intact() &&
                    workspace.is_intact());
    }

    base::Random random_{4};
};

TEST_F(DeviceMerge, EqualsThatOfTheProcessorForEverySize) {
    for (const size_t a : {0, 1, 3, 31, 33, 1000, 1023, 1024, 1025, 4097})
        for (const size_t b : {0, 1, 7, 512, 1024, 4097})
            for (const uint64_t range : {uint64_t{4097}, uint64_t{20000}, uint64_t{1} << 32U})
                compare(any_entries(a, range), any_entries(b, range), a % 2);
}

TEST_F(DeviceMerge, ListsMayBeEqualOrLieApartOrTakeTurns) {
    const Entries entries = any_entries(5000, 100000);
    compare(entries, entries, 0);
    Entries low;
    Entries high;
    Entries odd;
    Entries even;
    for (uint32_t i = 0; i < 5000; ++i) {
        low.push_back(i, 1.0F);
        high.push_back(0xFFFFFFFFU - 5000 + i, 2.0F);
        odd.push_back(2 * i + 1, 3.0F);
        even.push_back(2 * i, 4.0F);
    }
    compare(low, high, 1);
    compare(high, low, 1);
    compare(odd, even, 0);
    compare(low, odd, 0);
    compare(odd, low, 0);
}

TEST_F(DeviceMerge, OfLongLists) {
    Entries a;
    Entries b;
    for (uint32_t i = 0; i < 3000000; ++i) {
        if (random_.below(3) == 0) a.push_back(i, any_float(random_));
        if (random_.below(5) == 0) b.push_back(i, any_float(random_));
    }
    compare(a, b, 1);
    compare(b, a, 0);
}

// Another node may send any lists. The result of invalid lists is useless, but no other memory is
// touched.
TEST_F(DeviceMerge, ListsThatDoNotRiseHarmNothing) {
    for (int round = 0; round < 20; ++round) {
        const size_t a = random_.below(6000);
        const size_t b = random_.below(6000);
        std::vector<uint32_t> indices(a + b);
        for (uint32_t& index : indices) index = static_cast<uint32_t>(random_.below(5000));
        const std::vector<float> ones(a + b, 1.0F);
        const Guarded<uint32_t> in_indices(std::span<const uint32_t>(indices), 0);
        const Guarded<float> in_values(std::span<const float>(ones), 0);
        const Guarded<uint32_t> out_indices(a + b, 0);
        const Guarded<float> out_values(a + b, 0);
        const Guarded<uint64_t> out_count(1, 0);
        const size_t workspace_bytes = plugin()->merge_workspace(a, b);
        const Guarded<std::byte> workspace(workspace_bytes, 0);
        pace_device_merge merge = {};
        merge.a_count = a;
        merge.b_count = b;
        merge.a_indices = in_indices.data();
        merge.a_values = in_values.data();
        merge.b_indices = in_indices.data() + a;
        merge.b_values = in_values.data() + a;
        merge.out_indices = out_indices.data();
        merge.out_values = out_values.data();
        merge.out_count = out_count.data();
        merge.workspace = workspace.data();
        merge.workspace_bytes = workspace_bytes;
        finish(plugin()->merge(&merge, stream()));
        ASSERT_LE(out_count.elements().at(0), a + b);
        ASSERT_TRUE(out_indices.is_intact() && out_values.is_intact() && workspace.is_intact());
    }
}

}  // namespace
}  // namespace pace::kernels::cuda
