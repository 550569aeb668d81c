<%namespace name="philox" file="/common/philox.mako"/>
<%namespace name="reduce" file="/common/reduce.mako"/>
<%namespace name="variates" file="/gibbs/variates.mako"/>
<%namespace name="horseshoe" file="/gibbs/horseshoe.mako"/>
<%
    WHOLE = 8
%>
// Moves of single chains along lines in the space of the coefficients, lambda integrated out, on stored margins X beta.
//
// Line l moves the columns member_column[k] by t member_weight[k], k in [member_start[l], member_start[l + 1]), the intercept by
// t line_intercept[l], and the margins of the rows row_index[k] by t row_value[k], k in [row_start[l], row_start[l + 1]); the margins of
// all other rows stay the same. There are three sorts of lines, in this order:
//
//     null      no margin changes: one-hot groups, copies of a column
//     pairs     two nearly collinear or nested columns: what one gains the other loses
//     tails     one column with few informative rows
//
// Null lines and pairs jump: a member drawn at random gets a coefficient drawn from tau C(0, 1), so that whichever member is near 0
// can change places with another. Along the line the proposal has the density q(t) ~ sum_k |w_k| / (1 + (beta_k(t) / tau)^2), whatever
// the present point is, and enters the Metropolis ratio at both ends.
// Tails: a slice of u, beta_j = tau sinh u, so that the decades of a Cauchy tail are a few units long.
//
// Launch: a group of ${block} a chain. margins: (chains, pitch); whole[5] = number of jumps that were accepted.
${philox.functions()}
${philox.double_functions()}
${variates.latent_functions()}
${variates.likelihood_functions(family)}
${horseshoe.density_functions()}
${horseshoe.slice_functions()}
% if block == 1:
${variates.vector_functions(8, family)}

// The sum of log F(eta + t value) over the rows [begin, end) of a line, eight at a time
FUNCTION f64 line_likelihood(const GLOBAL f32* eta, const GLOBAL i32* row_index, const GLOBAL f32* row_value, i64 begin, i64 end, f32 t)
{
    f64 total = 0.0;
    for (i64 k = begin; k < end; k += 8) {
        const i64 last = end - 1;
        float8 at;
        float8 value;
%   for i in range(8):
        at.s${i} = eta[row_index[MIN(k + ${i}, last)]];
        value.s${i} = row_value[MIN(k + ${i}, last)];
%   endfor
        const float8 logs = log_likelihood_of_vector(at + t * value);
        const float8 used = (int8)(0, 1, 2, 3, 4, 5, 6, 7) < (int8)((i32)MIN(end - k, (i64)8)) ? logs : (float8)(0.0f);
        const float4 half_sum = used.lo + used.hi;
        total += (f64)((half_sum.x + half_sum.z) + (half_sum.y + half_sum.w));
    }
    return total;
}
% endif

KERNEL LAUNCH_BOUNDS(${block}, 1) move_lines(GLOBAL f64* RESTRICT beta, GLOBAL f32* RESTRICT narrow, GLOBAL f32* RESTRICT margins,
    GLOBAL f64* RESTRICT whole, const GLOBAL i32* RESTRICT member_start, const GLOBAL i32* RESTRICT member_column,
    const GLOBAL f64* RESTRICT member_weight, const GLOBAL f64* RESTRICT line_intercept, const GLOBAL i64* RESTRICT row_start,
    const GLOBAL i32* RESTRICT row_index, const GLOBAL f32* RESTRICT row_value, const GLOBAL f64* RESTRICT slab, i64 pitch, i32 q, i32 stride, i32 first, i32 nulls,
    i32 null_tries, i32 pairs, i32 pair_tries, i32 tails, i32 tail_first, i32 tail_tries, f64 first_prior, u64 seed, u32 stream, u32 step)
{
    LOCAL_ARRAY(f64, part, ${block});
    const i32 chain = GROUP_ID;
    const u32 number = stream + ((u32)chain << 8);
    const f64 tau = 1.0 / sqrt(whole[${WHOLE} * chain]);
    GLOBAL f64* b = beta + (i64)chain * q;
    GLOBAL f32* eta = margins + (i64)chain * pitch;
    f64 jumps = 0.0;

    for (i32 i = 0; i < null_tries + pair_tries; ++i) {
        const philox_words_t words = philox_words(seed, number, step, i, 0u);
        const i32 count = i < null_tries ? nulls : pairs;
        const i32 line = (i < null_tries ? 0 : nulls) + (i32)(((u64)words.w0 * (u64)count) >> 32);
        const i32 begin = member_start[line];
        const i32 end = member_start[line + 1];
        const i32 pick = begin + (i32)(((u64)words.w1 * (u64)(end - begin)) >> 32);
        const f64 turn = 3.141592653589793 * (uniform_f64(words.w2) - 0.5);
        const f64 t = (tau * sin(turn) / cos(turn) - b[member_column[pick]]) / member_weight[pick];
        f64 here = 0.0;
        f64 there = 0.0;
        for (i32 k = begin; k < end; ++k) {
            const f64 w = member_weight[k];
            const f64 x = b[member_column[k]] / tau;
            const f64 x_moved = x + t * w / tau;
            here += (w < 0.0 ? -w : w) / (1.0 + x * x);
            there += (w < 0.0 ? -w : w) / (1.0 + x_moved * x_moved);
        }
        f64 mine = 0.0;
        for (i32 k = begin + LOCAL_ID; k < end; k += ${block}) {
            const f64 x = b[member_column[k]] / tau;
            mine += log_horseshoe_density(x + t * member_weight[k] / tau) - log_horseshoe_density(x);
            const f64 moved = t * member_weight[k];
            mine -= 0.5 * slab[member_column[k]] * moved * (moved + 2.0 * b[member_column[k]]);
        }
        const f32 t_row = (f32)t;
        f64 likelihood = 0.0;
% if block == 1:
        likelihood += line_likelihood(eta, row_index, row_value, row_start[line], row_start[line + 1], t_row);
        likelihood -= line_likelihood(eta, row_index, row_value, row_start[line], row_start[line + 1], 0.0f);
% else:
        for (i64 k = row_start[line] + LOCAL_ID; k < row_start[line + 1]; k += ${block}) {
            const f32 at = eta[row_index[k]];
            likelihood += (f64)log_likelihood(at + t_row * row_value[k]) - (f64)log_likelihood(at);
        }
% endif
        mine += likelihood;
        part[LOCAL_ID] = mine;
        ${reduce.block_sum("part", "f64", block)}
        const f64 shift = t * line_intercept[line];
        f64 change = part[0] + log(here) - log(there);
        if (first > 0)
            change -= 0.5 * first_prior * shift * (shift + 2.0 * b[0]);
        const i32 accepted = log(uniform_f64(words.w3)) < change && change < 1.0e300;
        BARRIER();
        if (accepted) {
            for (i32 k = begin + LOCAL_ID; k < end; k += ${block})
                b[member_column[k]] += t * member_weight[k];
            for (i64 k = row_start[line] + LOCAL_ID; k < row_start[line + 1]; k += ${block})
                eta[row_index[k]] += t_row * row_value[k];
            if (LOCAL_ID == 0 && first > 0)
                b[0] += shift;
            jumps += 1.0;
        }
        BARRIER();
    }

    for (i32 i = 0; i < tail_tries; ++i) {
        const i32 line = nulls + pairs + (tail_first + i) % tails;
        const i32 column = member_column[member_start[line]];
        const f64 old = b[column];
        const f64 pivot = first > 0 ? b[0] : 0.0;
        slice_t s = slice_begin(asinh(old / tau), 3.0);
        while (s.phase < 4) {    // the same for all of a group
            const f64 x = sinh(s.at);
            const f64 t = tau * x - old;
            const f32 t_row = (f32)t;
% if block == 1:
            const f64 mine = line_likelihood(eta, row_index, row_value, row_start[line], row_start[line + 1], t_row);
% else:
            f64 mine = 0.0;
            for (i64 k = row_start[line] + LOCAL_ID; k < row_start[line + 1]; k += ${block})
                mine += (f64)log_likelihood(eta[row_index[k]] + t_row * row_value[k]);
% endif
            part[LOCAL_ID] = mine;
            ${reduce.block_sum("part", "f64", block)}
            const f64 shift = t * line_intercept[line];
            f64 density = part[0] + log_horseshoe_density(x) + log(cosh(s.at));
            density -= 0.5 * slab[column] * tau * tau * x * x;
            if (first > 0)
                density -= 0.5 * first_prior * shift * (shift + 2.0 * pivot);
            BARRIER();
            s = slice_next(s, density, seed, number + 1u, step, tail_first + i);
        }
        const f64 t = tau * sinh(s.here) - old;
        const f32 t_row = (f32)t;
        for (i64 k = row_start[line] + LOCAL_ID; k < row_start[line + 1]; k += ${block})
            eta[row_index[k]] += t_row * row_value[k];
        if (LOCAL_ID == 0) {
            b[column] = old + t;
            if (first > 0)
                b[0] = pivot + t * line_intercept[line];
        }
        BARRIER();
    }

    for (i32 j = LOCAL_ID; j < q; j += ${block})
        narrow[(i64)chain * stride + j] = (f32)b[j];
    if (LOCAL_ID == 0)
        whole[${WHOLE} * chain + 5] = jumps;
}

// (beta, tau) -> (c beta, c tau), the intercept apart: a slice of log c. The density of the local scales does not change, so that
// along the curve it is c / (1 + (c tau / A)^2) times the likelihood of the margins c (eta - b_0) + b_0. It carries chains along
// the Cauchy tail of the whole of beta where a combination of columns separates the classes.
//
// signs: the column of the intercept, the rows' y = +-1; zeros if there is none.
KERNEL LAUNCH_BOUNDS(${block}, 1) rescale_chains(GLOBAL f64* RESTRICT beta, GLOBAL f32* RESTRICT narrow, GLOBAL f32* RESTRICT margins,
    GLOBAL f64* RESTRICT whole, const GLOBAL f32* RESTRICT signs, const GLOBAL f64* RESTRICT slab, i64 pitch, i64 row_count, i32 q, i32 stride, i32 first,
    f64 inverse_width, u64 seed, u32 stream, u32 step)
{
    LOCAL_ARRAY(f64, part, ${block});
    const i32 chain = GROUP_ID;
    const u32 number = stream + ((u32)chain << 8);
    const f64 precision = whole[${WHOLE} * chain];
    GLOBAL f64* b = beta + (i64)chain * q;
    GLOBAL f32* eta = margins + (i64)chain * pitch;
    const f32 pivot = first > 0 ? (f32)b[0] : 0.0f;
    f64 squares = 0.0;
    for (i32 j = first + LOCAL_ID; j < q; j += ${block})
        squares += slab[j] * b[j] * b[j];
    part[LOCAL_ID] = squares;
    ${reduce.block_sum("part", "f64", block)}
    const f64 penalty = 0.5 * part[0];
    BARRIER();
    slice_t s = slice_begin(0.0, 1.0);
    while (s.phase < 4) {    // the same for all of a group
        const f32 c = (f32)exp(s.at);
        const f32 rest = (1.0f - c) * pivot;
        f64 mine = 0.0;
% if block == 1:
        for (i64 k = 0; k < row_count; k += 8) {    // the margins and signs of the padding are zeros
            const float8 logs = log_likelihood_of_vector(c * vload8(0, eta + k) + rest * vload8(0, signs + k));
            const float8 used = (int8)(0, 1, 2, 3, 4, 5, 6, 7) < (int8)((i32)MIN(row_count - k, (i64)8)) ? logs : (float8)(0.0f);
            const float4 half_sum = used.lo + used.hi;
            mine += (f64)((half_sum.x + half_sum.z) + (half_sum.y + half_sum.w));
        }
% else:
        for (i64 k = LOCAL_ID; k < row_count; k += ${block})
            mine += (f64)log_likelihood(c * eta[k] + rest * signs[k]);
% endif
        part[LOCAL_ID] = mine;
        ${reduce.block_sum("part", "f64", block)}
        const f64 density = part[0] + s.at - log(1.0 + inverse_width * exp(2.0 * s.at) / precision) - penalty * exp(2.0 * s.at);
        BARRIER();
        s = slice_next(s, density, seed, number, step, 0);
    }
    const f64 factor = exp(s.here);
    const f32 c = (f32)factor;
    const f32 rest = (1.0f - c) * pivot;
    for (i64 k = LOCAL_ID; k < row_count; k += ${block})
        eta[k] = c * eta[k] + rest * signs[k];
    for (i32 j = LOCAL_ID; j < q; j += ${block}) {
        const f64 value = j >= first ? factor * b[j] : b[j];
        b[j] = value;
        narrow[(i64)chain * stride + j] = (f32)value;
    }
    if (LOCAL_ID == 0)
        whole[${WHOLE} * chain] = CLAMPED(precision / (factor * factor));
}
