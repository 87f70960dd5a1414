// config_reference: prints docs/configuration.md, from the tables that the programs read.
//
//     config_reference > docs/configuration.md
#include <cstdio>

#include "settings/settings.h"

int main() {
    using pace::settings::controller_table;
    using pace::settings::daemon_table;
    using pace::settings::reference;

    const std::string text =
        "# Configuration\n\n"
        "Written by `config_reference` from the tables in `settings/`; change those, not this "
        "page.\n\n"
        "Every setting of a program may be given in its file (TOML), in the environment (the "
        "prefix and "
        "the name in capitals) and on the command line (the name with dashes: `--heartbeat-ms "
        "100`); "
        "the later wins. `--help-config` prints the table as a file to start from. Quantities may "
        "carry a unit: `\"2 s\"`, `\"8 GiB\"`.\n\n" +
        reference(daemon_table()) + "\n" + reference(controller_table());
    std::fputs(text.c_str(), stdout);
    return 0;
}
