## Sums of product.mako by one work-item, in vectors of 4 from packed panels.
<%def name="sums()">
<% rows, columns = 4, 4 %>
    LOCAL_ARRAY(f64, sums, ${tile * tile});
    for (i32 e = 0; e < ${tile * tile}; ++e)
        sums[e] = 0.0;
    const i32 used_i = (i32)MIN(M - i0, (i64)${tile});
    const i32 used_j = (i32)MIN(N - j0, (i64)${tile});
    for (i64 k0 = k_begin; k0 < k_end; k0 += ${depth}) {
        const i32 used_k = (i32)MIN(k_end - k0, (i64)${depth});
<%def name="pack(target, source, row, transposed, first, used, scaled)">
        if (${transposed})
            for (i32 k = 0; k < used_k; ++k) {
                const GLOBAL ${value}* from = ${source} + (k0 + k) * ${row} + ${first};
                LOCAL f64* to = ${target} + k * ${tile};
                const f64 factor = ${"scaled ? scale[k0 + k] : 1.0" if scaled else "1.0"};
                for (i32 i = 0; i < ${used}; ++i)
                    to[i] = from[i] * factor;
                for (i32 i = ${used}; i < ${tile}; ++i)
                    to[i] = 0.0;
            }
        else
            for (i32 i = 0; i < ${tile}; ++i) {
                const GLOBAL ${value}* from = ${source} + (${first} + i) * ${row} + k0;
                if (i >= ${used})
                    for (i32 k = 0; k < used_k; ++k)
                        ${target}[k * ${tile} + i] = 0.0;
                else${" if (scaled)" if scaled else ""}
                    for (i32 k = 0; k < used_k; ++k)
                        ${target}[k * ${tile} + i] = from[k]${" * scale[k0 + k]" if scaled else ""};
% if scaled:
                else
                    for (i32 k = 0; k < used_k; ++k)
                        ${target}[k * ${tile} + i] = from[k];
% endif
            }
</%def>
${pack("left", "a", "a_row", "turned & 1", "i0", "used_i", True)}
${pack("right", "b", "b_row", "!(turned & 2)", "j0", "used_j", False)}
        for (i32 r = 0; r < used_i; r += ${rows}) {
            for (i32 c = 0; c < used_j; c += ${4 * columns}) {
% for i in range(rows):
                vec ${", ".join(f"c{i}_{j} = (vec)0.0" for j in range(columns))};
% endfor
                LOCAL const f64* p = left + r;
                LOCAL const f64* q = right + c;
                for (i32 k = 0; k < used_k; ++k) {
% for j in range(columns):
                    const vec b${j} = *(LOCAL const unaligned_vec*)(q + ${4 * j});
% endfor
% for i in range(rows):
                    const vec a${i} = (vec)p[${i}];
% for j in range(columns):
                    c${i}_${j} += a${i} * b${j};
% endfor
% endfor
                    p += ${tile};
                    q += ${tile};
                }
% for i in range(rows):
% for j in range(columns):
                *(LOCAL unaligned_vec*)(sums + (r + ${i}) * ${tile} + c + ${4 * j}) += c${i}_${j};
% endfor
% endfor
            }
        }
    }
    for (i32 r = 0; r < used_i; ++r) {
        const i64 i = i0 + r;
        const i32 end = lower ? (i32)MIN((i64)used_j, i - j0 + 1) : used_j;
        LOCAL const f64* from = sums + r * ${tile};
        if (splits > 1) {
            GLOBAL f64* to = partial + ((batch * splits + split) * M + i) * N + j0;
            for (i32 c = 0; c < end; ++c)
                to[c] = from[c];
        } else {
            GLOBAL f64* to = C + c_start + batch * c_batch + i * c_row + j0;
            if (beta == 0.0)
                for (i32 c = 0; c < end; ++c)
                    to[c] = alpha * from[c];
            else
                for (i32 c = 0; c < end; ++c)
                    to[c] = alpha * from[c] + beta * to[c];
        }
    }
</%def>
