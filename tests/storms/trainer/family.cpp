#include "family.h"

#include <cstring>
#include <numeric>

#include "gradients.h"
#include "models.h"

namespace pace::storms {

uint64_t hash_of(std::span<const float> data) {
    uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, a word at a time
    for (const float value : data) {
        uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof(bits));
        hash = (hash ^ bits) * 0x100000001b3;
    }
    return hash;
}

double mass_of(std::span<const float> data) {
    return std::accumulate(data.begin(), data.end(), 0.0);
}

std::unique_ptr<Family> make_family(const std::string& name, uint32_t rank, uint64_t elements,
                                    uint64_t first_step) {
    if (name == "all-reduce") return std::make_unique<AllReduce>(rank, first_step, "none");
    if (name == "all-reduce-f16") return std::make_unique<AllReduce>(rank, first_step, "f16");
    if (name == "majority") return std::make_unique<Majority>(rank, first_step);
    if (name == "spardl") return std::make_unique<SparDl>(rank, first_step);
    if (name == "partial-reduce")
        return std::make_unique<Average>(rank, PACE_POLICY_PARTIAL_REDUCE);
    if (name == "prague") return std::make_unique<Average>(rank, PACE_POLICY_PRAGUE_SMART);
    if (name == "prague-static") return std::make_unique<Average>(rank, PACE_POLICY_PRAGUE_STATIC);
    if (name == "ssp") return std::make_unique<Served>(rank, elements, PACE_POLICY_SSP);
    if (name == "bsp") return std::make_unique<Served>(rank, elements, PACE_POLICY_BSP);
    return nullptr;
}

}  // namespace pace::storms
