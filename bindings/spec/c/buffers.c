/* buffers: making them, describing them, and their elements. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "handlers.h"
#include "objects.h"

typedef struct element {
    const char* name;
    int32_t type;
    uint64_t bytes;
} element;

static const element kElements[] = {{"f32", PACE_F32, 4},
                                    {"f64", PACE_F64, 8},
                                    {"f16", PACE_F16, 2},
                                    {"bf16", PACE_BF16, 2},
                                    {"u32", PACE_U32, 4}};

static const element* element_of(int32_t type, const char* name) {
    for (size_t at = 0; at < sizeof(kElements) / sizeof(kElements[0]); ++at)
        if (kElements[at].type == type || (name != NULL && strcmp(kElements[at].name, name) == 0))
            return &kElements[at];
    return NULL;
}

static uint64_t in_pages(uint64_t bytes) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

static int sealed_memfd(uint64_t bytes) {
    const int descriptor = memfd_create("spec", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) return -1;
    if (ftruncate(descriptor, (off_t)in_pages(bytes)) != 0 ||
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

void handle_buffer(command* command) {
    const object* session = object_find(SESSION, command_value(command, "session"));
    if (session == NULL) return command_broken(command, "no such session");
    const char* source = command_value(command, "source");
    const element* element = element_of(0, command_value(command, "type"));
    const uint64_t count = (uint64_t)command_int(command, "count", 0);
    pace_buffer_options options = PACE_BUFFER_OPTIONS_INIT;
    void* own = NULL;
    const int32_t type = element != NULL ? element->type : (int32_t)command_int(command, "type", 0);
    const uint64_t bytes = element != NULL ? count * element->bytes : 0;
    if (source != NULL && strcmp(source, "pointer") == 0) {
        own = aligned_alloc(4096, in_pages(bytes));
        memset(own, 0, in_pages(bytes));
        options.source = PACE_POINTER;
        options.pointer = own;
        options.flags = PACE_MAY_STAGE;
    } else if (source != NULL && strcmp(source, "fd") == 0) {
        options.source = PACE_FD;
        options.fd = sealed_memfd(bytes);
    }
    pace_error error;
    pace_buffer buffer;
    void* data = NULL;
    const pace_status status =
        pace_buffer_create(session->session, type, count, &options, &buffer, &data, &error);
    if (options.fd >= 0) close(options.fd);
    command_status(command, status, &error);
    if (status != PACE_OK) return free(own);
    object* made = object_make(BUFFER, command_name(command));
    made->session = session->session;
    made->buffer = buffer;
    made->type = type;
    made->count = count;
    made->data = data;
    made->own = own;
}

static object* buffer_of(command* command) {
    object* found = object_find(BUFFER, command_name(command));
    if (found == NULL) command_broken(command, "no such buffer");
    return found;
}

void handle_describe(command* command) {
    const object* buffer = buffer_of(command);
    if (buffer == NULL) return;
    pace_error error;
    pace_buffer_info info = PACE_BUFFER_INFO_INIT;
    const pace_status status = pace_buffer_get_info(buffer->session, buffer->buffer, &info, &error);
    command_status(command, status, &error);
    if (status != PACE_OK) return;
    const element* element = element_of(info.type, NULL);
    command_add(command, " type=%s count=%llu typestr=%s restored=%d staged=%d",
                element == NULL ? "?" : element->name, (unsigned long long)info.count,
                info.typestr[0] == 0 ? "none" : info.typestr,
                (info.flags & PACE_BUFFER_RESTORED) != 0, (info.flags & PACE_BUFFER_STAGED) != 0);
}

/* The buffer's name stays: what uses a freed handle is for cases to show. */
void handle_free_buffer(command* command) {
    object* buffer = buffer_of(command);
    if (buffer == NULL) return;
    pace_error error;
    const pace_status status = pace_buffer_free(buffer->session, buffer->buffer, &error);
    command_status(command, status, &error);
    if (status != PACE_OK) return;
    free(buffer->own);
    buffer->own = NULL;
    buffer->data = NULL;
}

void handle_release_buffer(command* command) {
    const object* buffer = buffer_of(command);
    if (buffer == NULL) return;
    pace_error error;
    command_status(command, pace_buffer_release(buffer->session, buffer->buffer, &error), &error);
}

static void put(const object* buffer, uint64_t at, const char* number) {
    switch (buffer->type) {
        case PACE_F32:
            ((float*)buffer->data)[at] = strtof(number, NULL);
            break;
        case PACE_F64:
            ((double*)buffer->data)[at] = strtod(number, NULL);
            break;
        case PACE_U32:
            ((uint32_t*)buffer->data)[at] = (uint32_t)strtoul(number, NULL, 10);
            break;
        default:
            ((uint16_t*)buffer->data)[at] = (uint16_t)strtoul(number, NULL, 10);
    }
}

static void get(command* command, const object* buffer, uint64_t at) {
    switch (buffer->type) {
        case PACE_F32:
            command_add(command, "%.9g", (double)((float*)buffer->data)[at]);
            break;
        case PACE_F64:
            command_add(command, "%.17g", ((double*)buffer->data)[at]);
            break;
        case PACE_U32:
            command_add(command, "%u", ((uint32_t*)buffer->data)[at]);
            break;
        default:
            command_add(command, "%u", ((uint16_t*)buffer->data)[at]);
    }
}

void handle_write(command* command) {
    const object* buffer = buffer_of(command);
    if (buffer == NULL) return;
    const char* value = command_value(command, "values");
    for (uint64_t at = (uint64_t)command_int(command, "first", 0);
         value != NULL && at < buffer->count; ++at) {
        put(buffer, at, value);
        value = strchr(value, ',');
        if (value != NULL) ++value;
    }
    command_add(command, "PACE_OK");
}

void handle_fill(command* command) {
    const object* buffer = buffer_of(command);
    if (buffer == NULL) return;
    for (uint64_t at = 0; at < buffer->count; ++at)
        put(buffer, at, command_value(command, "value"));
    command_add(command, "PACE_OK");
}

void handle_read(command* command) {
    const object* buffer = buffer_of(command);
    if (buffer == NULL) return;
    if (buffer->data == NULL) return command_broken(command, "the buffer has no memory");
    const uint64_t first = (uint64_t)command_int(command, "first", 0);
    const uint64_t end =
        first + (uint64_t)command_int(command, "count", (int64_t)(buffer->count - first));
    command_add(command, "PACE_OK values=");
    for (uint64_t at = first; at < end && at < buffer->count; ++at) {
        if (at != first) command_add(command, ",");
        get(command, buffer, at);
    }
}
