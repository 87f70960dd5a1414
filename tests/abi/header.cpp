#include "header.h"

size_t abi_header_sizes();

size_t abi_header_sizes() {
    return sizes();
}
