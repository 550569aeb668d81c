<%doc>
How a row of the design is stored: 16 bytes a chunk, as f32 or f16. value(storage, raw, e): number e of the chunk `raw`.

CUDA has an instruction for half precision. Elsewhere it is decoded by its bits, which needs nothing of the device: the
exponent is put in place and rescaled, which is exact for normal and subnormal numbers; there are no others in a design.
</%doc>
<%!
    def number(storage, raw, e):
        if storage == "f32":
            return f"{raw}.{'xyzw'[e]}"
        return f"VALUE_OF_BITS({raw}.{'xyzw'[e // 2]} {'& 0xffffu' if e % 2 == 0 else '>> 16'})"
%>
<%def name="value(storage, raw, e)">${number(storage, raw, e)}</%def>
<%def name="declarations(storage)">
% if storage == "f16" and language == "cuda":
FUNCTION f32 value_of_half(u16 bits) {
    f32 value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
#define VALUE_OF_BITS(bits) value_of_half((u16)(bits))
% elif storage == "f16":
FUNCTION f32 half_value(u32 bits) { return F32_OF_BITS((bits & 0x7fffu) << 13) * 5.192296858534828e33f; }
#define VALUE_OF_BITS(bits) F32_OF_BITS(BITS_OF_F32(half_value(bits)) | (((bits) & 0x8000u) << 16))
% endif
</%def>
<%def name="vector_declarations(storage)">
% if storage == "f32":
#define LOAD_ROW(place) (*(const GLOBAL float8*)(place))
typedef f32 value_t;
% else:
typedef u16 value_t;
FUNCTION float8 halves(uint8 bits) {
    const float8 size = as_float8((bits & 0x7fffu) << 13) * 5.192296858534828e33f;
    return as_float8(as_uint8(size) | ((bits & 0x8000u) << 16));
}
#define LOAD_ROW(place) halves(convert_uint8(*(const GLOBAL ushort8*)(place)))
% endif
</%def>
