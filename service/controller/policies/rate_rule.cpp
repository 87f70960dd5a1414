#include "service/controller/policies/rate_rule.h"

namespace pace::controller {

std::unique_ptr<RateRule> make_rate_rule(Rate rate, double constant) {
    switch (rate) {
        case Rate::sum:
            return std::make_unique<FixedRate>(1.0);
        case Rate::constant:
            return std::make_unique<FixedRate>(constant);
        case Rate::dynamic:
            return std::make_unique<DynamicRate>();
    }
    return nullptr;
}

}  // namespace pace::controller
