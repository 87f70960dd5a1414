#include "service/controller/shell/zmq/curve_keys.h"
#include "service/pacectl/commands.h"
#include "service/pacectl/output.h"

namespace pace::pacectl {

int generate_keys(const std::string& prefix) {
    const auto key = control_zmq::generate_key_pair(prefix);
    if (!key) return say_error(key.error());
    return print(
        fmt::format("{0}.secret  keep it on this machine, readable for the daemon only\n"
                    "{0}.public  {1}\n",
                    prefix, key->z85()));
}

}  // namespace pace::pacectl
