<%
    serial = block == 1
    lanes = 1 if serial else 32
    at_once = 8 if serial else block // lanes   # rows of a tile
    def products(chain, power):
        """The sum over eight rows of x^power w of a chain, but for its first summand."""
        return "".join(f" + {' * '.join(['v%d' % r] * power)} * w[{r * chains + chain}]" for r in range(8))

    together = 2                                # rows whose sums are in registers together, of serial groups
%>
// A pass of the kernel cg over the rows x of a dense design, which are multiplied by s = y = +-1, for ${chains} vectors beta in
// f64 (sparse_rows.mako and sparse_columns.mako do the same for a sparse one): the margins eta = s x . beta of every row, and
// its weight,
% if mode == "product":
//     w = omega eta
% else:
//     w = u + s sqrt(omega) d, d ~ N(0, 1): u ~ N(eta, 1) given u > 0 and omega = 1, or u = 1/2 and omega ~ PG(1, eta) for logit
% endif
// and then the sums over a strip of rows of x w${", and of x^2 omega" if mode == "augment" else ""}.
//
// coefficients: (betas, q); design: rows of `stride` values, those of the strips of this launch, whose first is `strip_first`;
// weighted, omega: (rows, ${chains}) from beta_first rows on; partial: (strips, betas, width), the numbers behind a row's left
// alone.
% if serial:
// Vectors have 32 bytes at most: PoCL 3.0 cannot read programs with larger ones back from its cache if its LLVM does not know
// the CPU's AVX-512.
% endif
${stored_values.declarations(storage)}
% if mode == "augment":
${philox.double_functions()}
${variates.latent_functions()}
${variates.scale_functions()}
${polya_gamma.functions()}
% endif
% if serial:
${stored_values.vector_declarations(storage)}
% elif storage == "f32":
typedef f32 value_t;
#define VALUE(x) (x)
% else:
typedef u16 value_t;
#define VALUE(x) VALUE_OF_BITS((u32)(x))
% endif
<%def name="weigh()">
                const i64 local_row = row_base + o / ${chains};
                const i64 row = first_row + local_row;
                const i64 place = beta_first * rows + local_row * ${chains} + c;
                f64 w = 0.0;
% if mode == "product":
                if (row < row_count)
                    w = omega[place] * eta;
% else:
                const f64 sign = (f64)signs[row];
                const u32 number = stream + ((u32)(beta_first + c) << 8);
                const f64 d = normal_of(philox_words(seed, noise_stream + ((u32)(beta_first + c) << 8), step, row, 0u));
%   if family == "logit":
                const f64 drawn = draw_polya_gamma(sign * eta, seed, number, step, row);
                const f64 u = 0.5;
%   else:
                const f64 drawn = 1.0;
                const f64 u = (f64)draw_positive_normal((f32)eta, seed, number, step, row, 0u);
%   endif
                omega[place] = drawn;
                if (row < row_count)
                    w = u + sign * sqrt(drawn) * d;
% endif
                weighted[place] = w;
</%def>

// Launch: any number of groups of ${block}, which take ${at_once} rows at a time.
KERNEL LAUNCH_BOUNDS(${block}, 1) weigh_rows(const GLOBAL value_t* RESTRICT design, const GLOBAL f64* RESTRICT coefficients,
    GLOBAL f64* RESTRICT weighted, GLOBAL f64* RESTRICT omega,
    const GLOBAL f32* RESTRICT signs,
    ${arguments.of_pass(mode, family)}
    i64 first_row, i64 row_count, i64 rows, i32 strips, i32 strip_first, i32 strip_rows, i32 stride, i32 q, i32 beta_first) {
% if mode == "augment":
    const u32 step = iteration[0];
% endif
    const GLOBAL f64* b = coefficients + (i64)beta_first * q;
    const i64 tiles = (i64)strips * strip_rows / ${at_once};
% if serial:
    const i32 full = q / 8 * 8;
    for (i64 tile = GROUP_ID; tile < tiles; tile += GROUP_COUNT) {
        const i64 row_base = (i64)strip_first * strip_rows + tile * 8;
        f64 dots[${8 * chains}];
        for (i32 r = 0; r < 8; r += ${together}) {
            const GLOBAL value_t* at = design + (tile * 8 + r) * stride;
            double4 ${", ".join(f"d{k}_{c} = (double4)(0.0)" for k in range(together) for c in range(chains))};
            for (i32 j = 0; j < full; j += 8) {
%   for k in range(together):
                const float8 x${k} = LOAD_ROW(at + ${k} * stride + j);
%   endfor
%   for part in ("lo", "hi"):
                {
%     for k in range(together):
                const double4 v${k} = convert_double4(x${k}.${part});
%     endfor
%     for c in range(chains):
                const double4 b${c} = vload4(${0 if part == "lo" else 1}, b + (i64)${c} * q + j);
%       for k in range(together):
                d${k}_${c} += v${k} * b${c};
%       endfor
%     endfor
                }
%   endfor
            }
%   for k in range(together):
            {
                f32 rest[8] __attribute__((aligned(32)));
                if (full < q)
                    *(float8*)rest = LOAD_ROW(at + ${k} * stride + full);
%     for c in range(chains):
                f64 sum${c} = (d${k}_${c}.x + d${k}_${c}.z) + (d${k}_${c}.y + d${k}_${c}.w);
                for (i32 j = full; j < q; ++j)
                    sum${c} += (f64)rest[j - full] * b[(i64)${c} * q + j];
                dots[(r + ${k}) * ${chains} + ${c}] = sum${c};
%     endfor
            }
%   endfor
        }
        for (i32 o = 0; o < ${8 * chains}; ++o) {
                const i32 c = o % ${chains};
                const f64 eta = dots[o];
${weigh()}
        }
    }
% else:
    LOCAL_ARRAY(f64, part, ${block * chains});
    const i32 lane = LOCAL_ID % ${lanes};
    for (i64 tile = GROUP_ID; tile < tiles; tile += GROUP_COUNT) {
        const i64 row_base = (i64)strip_first * strip_rows + tile * ${at_once};
        const GLOBAL value_t* x = design + (tile * ${at_once} + LOCAL_ID / ${lanes}) * stride;
        f64 ${", ".join(f"a{c} = 0.0" for c in range(chains))};
        for (i32 j = lane; j < q; j += ${lanes}) {
            const f64 v = (f64)VALUE(x[j]);
%   for c in range(chains):
            a${c} += v * b[(i64)${c} * q + j];
%   endfor
        }
%   for c in range(chains):
        part[LOCAL_ID * ${chains} + ${c}] = a${c};
%   endfor
        BARRIER();
<% offset = lanes // 2 %>
%   while offset >= 1:
        if (lane < ${offset}) {
%     for c in range(chains):
            part[LOCAL_ID * ${chains} + ${c}] += part[(LOCAL_ID + ${offset}) * ${chains} + ${c}];
%     endfor
        }
        BARRIER();
<% offset //= 2 %>
%   endwhile
        if (LOCAL_ID < ${at_once * chains}) {
                const i32 o = LOCAL_ID;
                const i32 c = o % ${chains};
                const f64 eta = part[o / ${chains} * ${lanes * chains} + c];
${weigh()}
        }
        BARRIER();
    }
% endif
}
<%def name="add_up(name, power)">
// Launch: for every strip ${"one group" if serial else f"a group of {block} for each {block} columns"}.
KERNEL LAUNCH_BOUNDS(${block}, 1) ${name}(const GLOBAL value_t* RESTRICT design, const GLOBAL f64* RESTRICT summed,
    GLOBAL f64* RESTRICT partial, i64 rows, i32 strip_first, i32 strip_rows, i32 stride, i32 q, i32 width, i32 beta_first,
    i32 betas) {
% if serial:
    const i32 strip = GROUP_ID;
    GLOBAL f64* sums = partial + ((i64)(strip_first + strip) * betas + beta_first) * width;
    for (i32 j = 0; j < ${chains} * width; ++j)
        sums[j] = 0.0;
    for (i32 tile = 0; tile < strip_rows; tile += 8) {
        const GLOBAL value_t* x = design + ((i64)strip * strip_rows + tile) * stride;
        const GLOBAL f64* w = summed + beta_first * rows + ((i64)(strip_first + strip) * strip_rows + tile) * ${chains};
        for (i32 j = 0; j < stride; j += 8) {
%   for r in range(8):
            const float8 x${r} = LOAD_ROW(x + ${r} * stride + j);
%   endfor
%   for part in ("lo", "hi"):
            {
%     for r in range(8):
                const double4 v${r} = convert_double4(x${r}.${part});
%     endfor
%     for c in range(chains):
                {
                    GLOBAL f64* to = sums + ${c} * width + j + ${0 if part == "lo" else 4};
                    vstore4(vload4(0, to)${products(c, power)}, 0, to);
                }
%     endfor
            }
%   endfor
        }
    }
% else:
    const i32 tiles = (stride + ${block - 1}) / ${block};
    const i32 strip = GROUP_ID / tiles;
    const i32 j = GROUP_ID % tiles * ${block} + LOCAL_ID;
    GLOBAL f64* sums = partial + ((i64)(strip_first + strip) * betas + beta_first) * width;
    if (j < stride) {
        const GLOBAL value_t* x = design + (i64)strip * strip_rows * stride + j;
        const GLOBAL f64* w = summed + beta_first * rows + (i64)(strip_first + strip) * strip_rows * ${chains};
        f64 ${", ".join(f"a{c} = 0.0" for c in range(chains))};
        for (i32 r = 0; r < strip_rows; ++r) {
            const f64 v = (f64)VALUE(x[(i64)r * stride]);
%   for c in range(chains):
            a${c} += ${"v * " if power == 2 else ""}v * w[r * ${chains} + ${c}];
%   endfor
        }
%   for c in range(chains):
        sums[${c} * width + j] = a${c};
%   endfor
    }
% endif
}
</%def>

${add_up("add_rows", 1)}
% if mode == "augment":
${add_up("add_squares", 2)}
% endif
