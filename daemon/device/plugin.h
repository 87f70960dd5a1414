// Plug-in interface: the arithmetic of the daemon's exchanges on a GPU, as a table of C functions.
//
// A plug-in is a shared library that the daemon opens if it exists
// (daemon/device/plugin_loader.h). It exports one function, pace_device_plugin. The table hides
// CUDA's runtime and compiler, so that the daemon is built and runs without them. The daemon itself
// makes memory, streams and events with the driver (base/cuda/cuda_driver.h), in the primary
// context of the device, which is current in the calling thread.
//
// Every function queues its work on a stream and returns; none synchronizes or allocates. They
// return 0, or an error whose text `error_text` gives. Pointers refer to device memory, aligned at
// least to the element type; calls are faster if all have the same alignment to 16 bytes. Element
// types and results equal, bit by bit, those of daemon/kernels/reduce.h and
// daemon/sparse/residual/top_k.h, which serve as reference in tests.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Increases with every change of this interface: a plug-in with another number is refused. */
#define PACE_DEVICE_PLUGIN_VERSION 3U

/* Maximum number of members in one call of `sum`. */
#define PACE_DEVICE_MEMBERS_MAX 32

/* protocol::DType */
typedef uint32_t pace_device_dtype;

/* out_j[i] = round(scale * sum over k of weights[k] * inputs[k][i]), for all i < count and all j <
 * output_count, in the order of the inputs. A mean uses the headroom of daemon/kernels/headroom.h.
 * Half types accumulate in f32. An output may be exactly an input, but not overlap it partially.
 */
typedef struct pace_device_sum {
    pace_device_dtype dtype; /* of all buffers: f32, f64, f16 or bf16 */
    uint32_t input_count;    /* 0: the outputs become zero */
    uint32_t output_count;
    uint32_t reserved;
    uint64_t count; /* elements of each buffer */
    double scale;
    double weights[PACE_DEVICE_MEMBERS_MAX];
    const void* inputs[PACE_DEVICE_MEMBERS_MAX];
    void* outputs[PACE_DEVICE_MEMBERS_MAX];
} pace_device_sum;

/* The same sum for many segments, with as few launches as the segments' addresses have room in the
 * parameters of kernels. Segment s has counts[s] elements, the inputs inputs[s * input_count + k],
 * and the outputs outputs[s * output_count + j]. All arrays are on the host and are read during the
 * call. */
typedef struct pace_device_sum_segments {
    pace_device_dtype dtype; /* of all segments: f32, f64, f16 or bf16 */
    uint32_t input_count;    /* at least 1 */
    uint32_t output_count;   /* 0: each input is an output, and `outputs` is not read */
    uint32_t segment_count;
    double scale;
    double weights[PACE_DEVICE_MEMBERS_MAX];
    const uint64_t* counts;
    const void* const* inputs;
    void* const* outputs;
} pace_device_sum_segments;

/* out[i] = in[i], converted to another type, rounded to nearest even. */
typedef struct pace_device_convert {
    pace_device_dtype from;
    pace_device_dtype to;
    uint64_t count;
    const void* in;
    void* out;
} pace_device_convert;

/* Finds the k elements of f32 with the greatest magnitudes, exactly; among equals those of lower
 * index. NaN counts above infinity. A zero is never chosen, so there may be fewer than k:
 * *out_count (device memory) receives their number. `indices` rise strictly, `values` belong to
 * them; both must have room for k. `residual`, which may be the input, becomes the input with the
 * chosen elements zeroed. `workspace` must have top_k_workspace(count, k) bytes, aligned to 256. */
typedef struct pace_device_top_k {
    uint64_t count;
    uint64_t k; /* 1 <= k <= count < 2^32 */
    const float* in;
    uint32_t* indices;
    float* values;
    uint64_t* out_count;
    float* residual; /* may be null */
    void* workspace;
    size_t workspace_bytes;
} pace_device_top_k;

/* Adds two lists of (index, value) with strictly rising indices. The output has the union of the
 * indices; the values of an index in both lists are added, a's first. out_indices and out_values
 * must have room for a_count + b_count; *out_count (device memory) receives the number of results.
 * `workspace` must have merge_workspace(a_count, b_count) bytes, aligned to 256. */
typedef struct pace_device_merge {
    uint64_t a_count;
    uint64_t b_count;
    const uint32_t* a_indices;
    const float* a_values;
    const uint32_t* b_indices;
    const float* b_values;
    uint32_t* out_indices;
    float* out_values;
    uint64_t* out_count;
    void* workspace;
    size_t workspace_bytes;
} pace_device_merge;

/* out[indices[i]] += rate * values[i]; without indices out[i] += rate * values[i]. This is a push
 * of a parameter server (DynSGD, Algorithm 2, line 8). Indices at or beyond `length` are skipped.
 * The indices must be distinct. */
typedef struct pace_device_scatter_add {
    uint64_t count;
    uint64_t length;         /* elements of out */
    const uint32_t* indices; /* may be null */
    const float* values;
    double rate;
    float* out;
} pace_device_scatter_add;

/* values[i] = in[indices[i]]; zero for an index at or beyond `length`. */
typedef struct pace_device_gather {
    uint64_t count;
    uint64_t length; /* elements of in */
    const uint32_t* indices;
    const float* in;
    float* values;
} pace_device_gather;

/* out[indices[i]] = values[i], elements of any type. Indices at or beyond `length` are skipped.
 * The indices must be distinct. */
typedef struct pace_device_scatter {
    uint64_t count;
    uint64_t length;        /* elements of out */
    uint32_t element_bytes; /* 2, 4 or 8 */
    uint32_t reserved;
    const uint32_t* indices;
    const void* values;
    void* out;
} pace_device_scatter;

typedef struct pace_device_plugin_table {
    uint32_t version;          /* PACE_DEVICE_PLUGIN_VERSION */
    uint32_t struct_size;      /* of this struct */
    const char* name;          /* with the toolkit's version: "CUDA 13.0" */
    const char* architectures; /* those with machine code: "75 80 90" */

    /* Loads all kernels for `device`, which must be current, so that no later call does: loading
     * may wait for all work of the device. Returns 0, or an error that says why the plug-in cannot
     * use the device. Must be called before the functions below. */
    int (*check)(int device);
    /* Text of an error that one of these functions has returned; static memory. */
    const char* (*error_text)(int error);

    int (*sum)(const pace_device_sum* sum, void* stream);
    int (*sum_segments)(const pace_device_sum_segments* sum, void* stream);
    int (*convert)(const pace_device_convert* convert, void* stream);
    size_t (*top_k_workspace)(uint64_t count, uint64_t k);
    int (*top_k)(const pace_device_top_k* top_k, void* stream);
    size_t (*merge_workspace)(uint64_t a_count, uint64_t b_count);
    int (*merge)(const pace_device_merge* merge, void* stream);
    int (*scatter_add)(const pace_device_scatter_add* add, void* stream);
    int (*gather)(const pace_device_gather* gather, void* stream);
    int (*scatter)(const pace_device_scatter* scatter, void* stream);
} pace_device_plugin_table;

/* The function that a plug-in exports as "pace_device_plugin". Never returns null. */
typedef const pace_device_plugin_table* (*pace_device_plugin_entry)(void);

#ifdef __cplusplus
}
#endif
