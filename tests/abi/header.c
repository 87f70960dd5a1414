#include "header.h"

size_t abi_header_sizes(void);

size_t abi_header_sizes(void) {
    return sizes();
}
