#include "service/pacectl/commands.h"
#include "service/pacectl/findings.h"
#include "service/pacectl/output.h"

namespace pace::pacectl {

int run_doctor(const client::Endpoint& endpoint) {
    const auto findings = judge(gather_facts(endpoint));
    const int printed = print(findings_text(findings));
    return any_failed(findings) ? 1 : printed;
}

}  // namespace pace::pacectl
