#pragma once
#include <zlib.h>

/// inflateInit2 is a macro, which Swift does not import.
static inline int czlib_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

/// deflateInit2 is a macro as well.
static inline int czlib_deflate_init(z_stream *stream, int window_bits) {
    return deflateInit2(stream, Z_BEST_COMPRESSION, Z_DEFLATED, window_bits, 9, Z_DEFAULT_STRATEGY);
}
