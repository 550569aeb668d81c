<%
    each = 4 if storage == "f32" else 8
    stored = "f32" if storage == "f32" else "u16"
    size = lanes * row_lanes
    outputs = row_lanes * rows * chains
    shuffled = reduction == "shuffle"
    width = min(lanes, 32)
    gathered = not shuffled and outputs < size                 # several work-items add up one sum
    parts = lanes // width if shuffled else (size // outputs if gathered else 1)
    pitch = size + (parts if gathered else 0)
    early = mode == "draw" and outputs <= size   # a work-item has one draw a tile, at most
    hoisted = chunks * each * chains <= 16
    xs = [[[f"x{r}_{k}_{e}" for e in range(each)] for k in range(chunks)] for r in range(rows)]
%>
// One pass over the rows of the design, in which each is read once, for ${chains} vectors beta at a time:
//     eta = x . beta
% if mode == "draw":
//     z ~ N(eta, 1) given z > 0                 the rows are already multiplied by their y = +-1
//     out += x z, and z^2 into the column behind the last
% else:
// out += x f(eta), f = (log F)', F the distribution function of the ${family} model, and log F(eta) into the column behind the
// last
%   if mode == "margins":
//     margins[beta's number][row] = eta
%   endif
% endif
//
// Launch: any number of groups of ${size} work-items: ${row_lanes} rows at a time by ${lanes} lanes, ${rows} rows and ${chunks}
// chunks of 16 bytes each. A group handles strips of `strip_rows` rows, a multiple of ${row_lanes * rows}, which it takes from
// a dynamic work queue; a strip's sums have a place of their own, out[strip][beta][width], so that what is added to what
// depends on the data alone. Rows from row_count on are padding: zeros. The queue's fields are zero before and after a launch.
// Groups on the first `spared` multiprocessors leave when others are at work, so that kernels of other streams find room there.
// design: (rows, chunk_count chunks); beta: (betas, stride); strip_first is the strip's place in `out`.
${records["queue"].declaration()}
${philox.functions()}
${variates.latent_functions()}
% if mode in ("score", "margins"):
${likelihoods.functions(family)}
% endif
${stored_values.declarations(storage)}
typedef ${"float4" if storage == "f32" else "uint4"} chunk_t;

<%def name="fetch_beta()">
    // the part of beta that a work-item multiplies by, for all rows
%   for c in range(chains):
%     for k in range(chunks):
%       for h in range(each // 4):
    float4 b${c}_${k}_${h};
    b${c}_${k}_${h}.x = b${c}_${k}_${h}.y = b${c}_${k}_${h}.z = b${c}_${k}_${h}.w = 0.0f;
    ${"if (inside)" if k == chunks - 1 else ""}
        b${c}_${k}_${h} = beta[(i64)(beta_first + ${c}) * quads + (lane + ${k * lanes}) * ${each // 4} + ${h}];
%       endfor
%     endfor
%   endfor
</%def>
<%def name="fetch_rows()">
% for r in range(rows):
%   for k in range(chunks):
            chunk_t raw${r}_${k};
            raw${r}_${k}.x = raw${r}_${k}.y = raw${r}_${k}.z = raw${r}_${k}.w = 0;
            ${"if (inside)" if k == chunks - 1 else ""}
                raw${r}_${k} = ((const GLOBAL chunk_t*)design)[(row + ${r * row_lanes}) * chunk_count + lane + ${k * lanes}];
%   endfor
% endfor
</%def>
<%def name="decode_rows()">
% for r in range(rows):
%   for k in range(chunks):
%     for e in range(each):
            const f32 ${xs[r][k][e]} = ${stored_values.value(storage, f"raw{r}_{k}", e)};
%     endfor
%   endfor
% endfor
</%def>
<%def name="multiply_rows()">
% for c in range(chains):
%   for r in range(rows):
            f32 d${r * chains + c} = 0.0f;
%   endfor
%   for k in range(chunks):
%     for h in range(each // 4):
            {
%       if hoisted:
                const float4 b = b${c}_${k}_${h};
%       else:
                float4 b;
                b.x = b.y = b.z = b.w = 0.0f;
                ${"if (inside)" if k == chunks - 1 else ""}
                    b = beta[(i64)(beta_first + ${c}) * quads + (lane + ${k * lanes}) * ${each // 4} + ${h}];
%       endif
%       for r in range(rows):
                d${r * chains + c} += ${" + ".join(f"{xs[r][k][4 * h + e]} * b.{'xyzw'[e]}" for e in range(4))};
%       endfor
            }
%     endfor
%   endfor
% endfor
</%def>
<%def name="add_by_shuffles()">
            // the sums of d over the lanes: each step halves the number of sums that a lane has
<%
    count = rows * chains
    names = [f"d{i}" for i in range(count)]
    offset = width // 2
    step_ = 0
%>
%   while offset >= 1:
%     if len(names) > 1:
<%
        half = len(names) // 2
        fresh = [f"s{step_}_{i}" for i in range(half)]
%>
            const i32 upper${step_} = (lane & ${offset}) != 0;
%       for i in range(half):
            const f32 ${fresh[i]} = (upper${step_} ? ${names[i + half]} : ${names[i]})
                + __shfl_xor_sync(0xffffffffu, upper${step_} ? ${names[i]} : ${names[i + half]}, ${offset});
%       endfor
<%      names = fresh %>
%     else:
            const f32 s${step_}_0 = ${names[0]} + __shfl_xor_sync(0xffffffffu, ${names[0]}, ${offset});
<%      names = [f"s{step_}_0"] %>
%     endif
<%
    offset //= 2
    step_ += 1
%>
%   endwhile
<%
    # lane bit offset = width / 2^(s+1) chooses half s of the values: value number = sum over steps of bit * count / 2^(s+1)
    terms = []
    remaining, offset = count, width // 2
    while remaining > 1 and offset >= 1:
        remaining //= 2
        terms.append(f"((lane & {offset}) != 0 ? {remaining} : 0)")
        offset //= 2
    idle = (width >> len(terms)) - 1   # lanes that differ only in these bits hold the same sums
%>
            {
                const i32 which = ${" + ".join(terms) or "0"};
                if ((lane & ${idle}) == 0) {
%   for i, name in enumerate(names):
                    part[(row_lane * ${count} + which + ${i}) * ${parts} + lane / ${width}] = ${name};
%   endfor
                }
            }
</%def>
<%def name="add_in_local_memory()">
%   for i in range(rows * chains):
            dots[${i * pitch} + LOCAL_ID] = d${i};
%   endfor
            BARRIER();
%   if gathered:
            {
                const i32 o = LOCAL_ID / ${parts};
                const i32 at = o % ${rows * chains} * ${pitch} + o / ${rows * chains} * ${lanes} + LOCAL_ID % ${parts};
                f32 sum = dots[at];
%     for i in range(1, lanes // parts):
                sum += dots[at + ${i * parts}];
%     endfor
                part[LOCAL_ID] = sum;
            }
%   endif
</%def>
<%def name="store_sums()">
        // the sums of a strip; those of rows side by side are added up in local memory
%   if row_lanes == 1:
%     for c in range(chains):
%       for k in range(chunks):
        ${"if (inside) {" if k == chunks - 1 else "{"}
%         for e in range(each):
            sums[${c} * (chunk_count * ${each} + 8) + (lane + ${k * lanes}) * ${each} + ${e}] = a${c}_${k}_${e};
%         endfor
        }
%       endfor
%     endfor
%   else:
%     for c in range(chains):
%       for k in range(chunks):
        BARRIER();
%         for e in range(each):
        fold[LOCAL_ID * ${each} + ${e}] = a${c}_${k}_${e};
%         endfor
        BARRIER();
        for (i32 i = LOCAL_ID; i < ${lanes * each}; i += ${size}) {
            f32 sum = fold[i];
            for (i32 v = 1; v < ${row_lanes}; ++v)
                sum += fold[i + v * ${lanes * each}];
            if (i / ${each} + ${k * lanes} < chunk_count)
                sums[${c} * (chunk_count * ${each} + 8) + ${k * lanes * each} + i] = sum;
        }
%       endfor
%     endfor
%   endif
</%def>

KERNEL LAUNCH_BOUNDS(${size}, 1) sweep(const GLOBAL ${stored}* RESTRICT design,
    const GLOBAL float4* RESTRICT beta, GLOBAL f32* RESTRICT out, i64 first_row, i64 row_count, i32 strips, i32 strip_first,
    i32 strip_rows, i32 chunk_count, i32 beta_first, i32 betas,
    ${arguments.of_pass(mode, family)}
    GLOBAL queue_t* RESTRICT queue, u32 spared) {
% if mode == "draw":
    const u32 step = iteration[0];
% endif
    LOCAL_ARRAY(i32, taken, 4);
% if shuffled:
    LOCAL_ARRAY(f32, part, ${outputs * parts});
% else:
    LOCAL_ARRAY(f32, dots, ${rows * chains * pitch});
%   if gathered:
    LOCAL_ARRAY(f32, part, ${outputs * parts});
%   endif
% endif
    LOCAL_ARRAY(f32, latent, ${max(outputs, size)});
% if row_lanes > 1:
    LOCAL_ARRAY(f32, fold, ${size * each});
% endif
    const i32 lane = LOCAL_ID % ${lanes};
    const i32 row_lane = LOCAL_ID / ${lanes};
    const i32 quads = chunk_count * ${each // 4};
% if lanes * chunks > 1:
    const i32 last = lane + ${(chunks - 1) * lanes};
% else:
    const i32 last = 0;
% endif
    const i32 inside = last < chunk_count;
% if hoisted:
${fetch_beta()}
% endif
    if (LOCAL_ID == 0) {
        i32 others = 0;
        if (MULTIPROCESSOR_ID() < spared)
            for (i32 tries = 0; tries < 64 && !others; ++tries)
                others = ATOMIC_ADD_U32(&queue->next_strip, 0u) != 0u;
        taken[0] = others ? strips : (i32)ATOMIC_ADD_U32(&queue->next_strip, 1u);
    }
    BARRIER();
    i32 strip = taken[0];
    while (strip < strips) {    // the same for all of a group
        i32 following = 0;
        if (LOCAL_ID == 0)
            following = (i32)ATOMIC_ADD_U32(&queue->next_strip, 1u);
        f32 extra = 0.0f;
% for c in range(chains):
        f32 ${", ".join(f"a{c}_{k}_{e} = 0.0f" for k in range(chunks) for e in range(each))};
% endfor
        for (i32 tile = 0; tile < strip_rows; tile += ${row_lanes * rows}) {
            const i64 row = (i64)strip * strip_rows + tile + row_lane;
${fetch_rows()}
% if early:
            // while the rows are on their way
            proposals_t proposals;
            if (LOCAL_ID < ${outputs}) {
                const i64 index = first_row + (i64)strip * strip_rows + tile + LOCAL_ID / ${chains} % ${rows} * ${row_lanes}
                    + LOCAL_ID / ${rows * chains};
                proposals = make_proposals(seed, stream + ((u32)(beta_first + LOCAL_ID % ${chains}) << 8), step, index);
            }
% endif
${decode_rows()}
${multiply_rows()}
${add_by_shuffles() if shuffled else add_in_local_memory()}
% if shuffled or gathered:
            BARRIER();
% endif
            for (i32 o = LOCAL_ID; o < ${outputs}; o += ${size}) {
                const i32 c = o % ${chains};
                const i32 r = o / ${chains} % ${rows};
                const i64 global_row = first_row + (i64)strip * strip_rows + tile + r * ${row_lanes} + o / ${rows * chains};
% if shuffled or gathered:
                f32 eta = part[o * ${parts}];
%   for i in range(1, parts):
                eta += part[o * ${parts} + ${i}];
%   endfor
% else:
                const i32 at = o % ${rows * chains} * ${pitch} + o / ${rows * chains} * ${lanes};
                f32 eta = dots[at];
%   for i in range(1, lanes):
                eta += dots[at + ${i}];
%   endfor
% endif
% if mode == "draw":
                const u32 number = stream + ((u32)(beta_first + c) << 8);
%   if early:
                const f32 drawn = choose_proposal(eta, proposals, seed, number, step, global_row);
                const f32 z = global_row < row_count ? drawn : 0.0f;
%   else:
                const f32 z = global_row < row_count ? draw_positive_normal(eta, seed, number, step, global_row, 0u) : 0.0f;
%   endif
                extra += z * z;
                latent[o] = z;
% else:
                latent[o] = global_row < row_count ? ${likelihoods.slope(family, "eta", "global_row", "beta_first + c")} : 0.0f;
                extra += global_row < row_count ? ${likelihoods.value(family, "eta", "global_row", "beta_first + c")} : 0.0f;
%   if mode == "margins":
                margins[(i64)(beta_first + c) * pitch + global_row] = eta;
%   endif
% endif
            }
            BARRIER();
%   for r in range(rows):
%     for c in range(chains):
            {
                const f32 z = latent[(row_lane * ${rows} + ${r}) * ${chains} + ${c}];
%       for k in range(chunks):
%         for e in range(each):
                a${c}_${k}_${e} += ${xs[r][k][e]} * z;
%         endfor
%       endfor
            }
%     endfor
%   endfor
%   if not shuffled and not gathered:
            BARRIER();
%   endif
        }
        GLOBAL f32* sums = out + ((i64)(strip_first + strip) * betas + beta_first) * (chunk_count * ${each} + 8);
${store_sums()}
        BARRIER();
        latent[LOCAL_ID] = extra;
        BARRIER();
        if (LOCAL_ID < ${chains}) {
            f32 sum = latent[LOCAL_ID];
            for (i32 i = LOCAL_ID + ${chains}; i < ${min(outputs, size)}; i += ${chains})
                sum += latent[i];
            sums[LOCAL_ID * (chunk_count * ${each} + 8) + chunk_count * ${each}] = sum;
        }
        BARRIER();
        if (LOCAL_ID == 0)
            taken[0] = following;
        BARRIER();
        strip = taken[0];
    }
    if (LOCAL_ID == 0 && ATOMIC_ADD_U32(&queue->groups_ended, 1u) == (u32)GROUP_COUNT - 1u) {
        queue->next_strip = 0u;
        queue->groups_ended = 0u;
    }
}
