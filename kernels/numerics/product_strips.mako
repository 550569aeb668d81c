## Sums of product.mako by a group of work-items: strips of both matrices go through local memory, two in turn.
<%def name="tensor_cores()">
#if (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= ${900 if tensor == 2 else 800}) || defined(cl_nv_pragma_unroll)
% if tensor == 2:
#define ADD_PRODUCT(c, d, e, f, a0, a1, a2, a3, b0, b1) asm volatile( \
    "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
    : "+d"(c), "+d"(d), "+d"(e), "+d"(f) : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b0), "d"(b1))
% else:
#define ADD_PRODUCT(c, d, a, b) asm volatile( \
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" \
    : "+d"(c), "+d"(d) : "d"(a), "d"(b))
% endif
#else
% if tensor == 2:
#define ADD_PRODUCT(c, d, e, f, a0, a1, a2, a3, b0, b1)
% else:
#define ADD_PRODUCT(c, d, a, b)
% endif
#endif
</%def>
<%def name="sums()">
<%
    items = tile // each
    pad = tile + 4  # so that lanes that read or write together use different banks
    loads = tile * depth // block  # of each matrix, by each work-item, for a strip
    pointers = max(1, 4 * tile // block)
    def along_k(e):
        """Row and k of a work-item's load number e where k runs along memory: (row pointer, row, k), less LOCAL_ID's part."""
        return e % pointers, block // 4 * (e % pointers), 4 * (e // pointers)
    def along_i(e):
        return block // tile * e
%>
<%def name="begin(name, source, row, turned, first, limit)">
    const i32 ${name}_turned = ${turned};
% for q in range(pointers):
    const GLOBAL ${value}* ${name}_from${q} = ${source} + (${name}_turned
        ? (k_begin + LOCAL_ID / ${tile}) * ${row} + MIN(${first} + LOCAL_ID % ${tile}, ${limit} - 1)
        : MIN(${first} + LOCAL_ID / 4 + ${block // 4 * q}, ${limit} - 1) * ${row} + k_begin + LOCAL_ID % 4);
% endfor
    const i64 ${name}_step = ${name}_turned ? ${depth} * ${row} : ${depth};
    ${value} ${", ".join(f"{name}{e} = 0" for e in range(loads))};
</%def>
<%def name="fetch(name, row)">
        if (${name}_turned) {
            const i32 k = LOCAL_ID / ${tile};
            if (k0 + ${depth} <= k_end) {
% for e in range(loads):
                ${name}${e} = ${name}_from0[${along_i(e)} * ${row}];
% endfor
            } else {
% for e in range(loads):
                ${name}${e} = k0 + k + ${along_i(e)} < k_end ? ${name}_from0[${along_i(e)} * ${row}] : (${value})0;
% endfor
            }
        } else {
            const i32 k = LOCAL_ID % 4;
            if (k0 + ${depth} <= k_end) {
% for e in range(loads):
                ${name}${e} = ${name}_from${along_k(e)[0]}[${along_k(e)[2]}];
% endfor
            } else {
% for e in range(loads):
                ${name}${e} = k0 + k + ${along_k(e)[2]} < k_end ? ${name}_from${along_k(e)[0]}[${along_k(e)[2]}] : (${value})0;
% endfor
            }
        }
% for q in range(pointers):
        ${name}_from${q} += ${name}_step;
% endfor
</%def>
<%def name="fetch_scale()">
        if (scaled) {
            const i64 k = k0 + (left_turned ? LOCAL_ID / ${tile} : LOCAL_ID % 4);
% for e in range(loads):
            {
                const i64 at = k + (left_turned ? ${along_i(e)} : ${along_k(e)[2]});
                scale${e} = at < k_end ? scale[at] : 0.0;
            }
% endfor
        }
</%def>
<%def name="keep(name, scaled)">
        if (${name}_turned) {
            LOCAL f64* to = ${name} + next + LOCAL_ID / ${tile} * ${pad} + LOCAL_ID % ${tile};
% for e in range(loads):
            to[${along_i(e) * pad}] = (f64)${name}${e}${f" * scale{e}" if scaled else ""};
% endfor
        } else {
            LOCAL f64* to = ${name} + next + LOCAL_ID % 4 * ${pad} + LOCAL_ID / 4;
% for e in range(loads):
            to[${along_k(e)[2] * pad + along_k(e)[1]}] = (f64)${name}${e}${f" * scale{e}" if scaled else ""};
% endfor
        }
</%def>
<%def name="write(row, names, column)">
    {
        // ${len(names)} sums of one row; places outside are read at the row's start, and not written
        const i64 i = i0 + ${row};
        const i64 end = i < M ? (lower ? MIN(i + 1, N) : N) : 0;
        const i64 row_at = i < M ? i : M - 1;
        if (splits > 1) {
            GLOBAL f64* to = partial + ((batch * splits + split) * M + row_at) * N;
% for c, name in enumerate(names):
            if (j0 + ${column(c)} < end)
                to[j0 + ${column(c)}] = ${name};
% endfor
        } else {
            GLOBAL f64* to = C + c_start + batch * c_batch + row_at * c_row;
            f64 ${", ".join(f"old{c} = 0.0" for c in range(len(names)))};
            if (beta != 0.0) {
% for c, name in enumerate(names):
                old${c} = to[j0 + ${column(c)} < end ? j0 + ${column(c)} : 0];
% endfor
% for c, name in enumerate(names):
                old${c} *= beta;
% endfor
            }
% for c, name in enumerate(names):
            if (j0 + ${column(c)} < end)
                to[j0 + ${column(c)}] = alpha * ${name} + old${c};
% endfor
        }
    }
</%def>
${begin("left", "a", "a_row", "turned & 1", "i0", "M")}
${begin("right", "b", "b_row", "!(turned & 2)", "j0", "N")}
    f64 ${", ".join(f"scale{e} = 1.0" for e in range(loads))};
    i32 now = 0, next = 0;
    i64 k0 = k_begin;
${fetch("left", "a_row")}
${fetch("right", "b_row")}
${fetch_scale()}
${keep("left", True)}
${keep("right", False)}
    BARRIER();
% if tensor:
<% down, across_ = tile // 32, tile // 16 %>
    const i32 lane = LOCAL_ID % 32;
    const i32 row0 = LOCAL_ID / 64 * ${tile // 4} + lane / 4;
    const i32 column0 = LOCAL_ID / 32 % 2 * ${tile // 2};
% for r in range(down):
    f64 ${", ".join(f"c{r}_{c} = 0.0, d{r}_{c} = 0.0" for c in range(across_))};
% endfor
% else:
    const i32 ix = LOCAL_ID % ${items};
    const i32 iy = LOCAL_ID / ${items};
% for r in range(each):
    f64 ${", ".join(f"c{r}_{c} = 0.0" for c in range(each))};
% endfor
% endif
    while (k0 < k_end) {
        k0 += ${depth};
        const i32 more = k0 < k_end;
        next = ${depth * pad} - now;
        if (more) {
${fetch("left", "a_row")}
${fetch("right", "b_row")}
${fetch_scale()}
        }
% if tensor:
        LOCAL const f64* p = left + now + lane % 4 * ${pad} + row0;
        LOCAL const f64* q = right + now + lane % 4 * ${pad} + column0 + lane / 4;
% if tensor == 2:
% for k in range(0, depth, 8):
        {
% for r in range(down):
            const f64 a${r} = p[${k * pad + 8 * r}];
            const f64 e${r} = p[${(k + 4) * pad + 8 * r}];
% endfor
% for c in range(across_):
            const f64 b${c} = q[${k * pad + 8 * c}];
            const f64 f${c} = q[${(k + 4) * pad + 8 * c}];
% endfor
% for c in range(across_):
% for r in range(0, down, 2):
            ADD_PRODUCT(c${r}_${c}, d${r}_${c}, c${r + 1}_${c}, d${r + 1}_${c}, a${r}, a${r + 1}, e${r}, e${r + 1}, b${c}, f${c});
% endfor
% endfor
        }
% endfor
% else:
% for k in range(0, depth, 4):
        {
% for r in range(down):
            const f64 a${r} = p[${k * pad + 8 * r}];
% endfor
% for c in range(across_):
            const f64 b${c} = q[${k * pad + 8 * c}];
% endfor
% for c in range(across_):
% for r in range(down):
            ADD_PRODUCT(c${r}_${c}, d${r}_${c}, a${r}, b${c});
% endfor
% endfor
        }
% endfor
% endif
% else:
% if language == "cuda":
#pragma unroll
% else:
#ifdef cl_nv_pragma_unroll
#pragma unroll
#endif
% endif
        for (i32 k = 0; k < ${depth}; ++k) {
            LOCAL const f64* p = left + now + k * ${pad} + iy;
            LOCAL const f64* q = right + now + k * ${pad} + ix;
% for r in range(each):
            const f64 a${r} = p[${r * items}];
% endfor
% for c in range(each):
            const f64 b${c} = q[${c * items}];
% endfor
% for r in range(each):
% for c in range(each):
            c${r}_${c} += a${r} * b${c};
% endfor
% endfor
        }
% endif
        if (more) {
${keep("left", True)}
${keep("right", False)}
        }
        BARRIER();
        now = next;
    }
% if tensor:
% for r in range(down):
<% sums = [f"{name}{r}_{c}" for c in range(across_) for name in "cd"] %>
${write(f"row0 + {8 * r}", sums, lambda c: f"column0 + {8 * (c // 2) + c % 2} + lane % 4 * 2")}
% endfor
% else:
% for r in range(each):
${write(f"iy + {r * items}", [f"c{r}_{c}" for c in range(each)], lambda c: f"ix + {c * items}")}
% endfor
% endif
</%def>
