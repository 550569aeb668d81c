<%
    random_slab = prior == "regularized"
    weighted = context.get("weighted", False)
    factor = " * slab_precision" if random_slab else ""

    def spread(column):
        """What log_prior_density takes for k."""
        return f"slab[{column}]{factor} * tau * tau" if random_slab else "0.0"
%>
// Moves of single chains along lines in the space of the coefficients, lambda integrated out, on stored margins X beta; f is
// the density of beta_j / tau of priors.mako.
//
// Line l moves the columns member_column[k] by t member_weight[k], k in [member_start[l], member_start[l + 1]), the intercept by
// t line_intercept[l], and the margins of the rows row_index[k] by t row_value[k], k in [row_start[l], row_start[l + 1]); the
// margins of all other rows stay the same. There are three sorts of lines, in this order:
//
//     null      no margin changes: one-hot groups, copies of a column
//     pairs     two nearly collinear or nested columns: what one gains the other loses
//     tails     one column with few informative rows
//
// Null lines and pairs jump: a member drawn at random gets a coefficient drawn from tau C(0, 1), so that whichever member is near 0
// can change places with another. Along the line the proposal has the density q(t) ~ sum_k |w_k| / (1 + (beta_k(t) / tau)^2),
// whatever the present point is, and enters the Metropolis ratio at both ends.
// Tails: a slice of u, beta_j = tau sinh u, so that the decades of a Cauchy tail are a few units long.
//
// Launch: a group of ${block} a chain. margins: (chains, pitch); jumps: how many were accepted.
${records["chain"].declaration()}
${philox.double_functions()}
${variates.latent_functions()}
${likelihoods.functions(family)}
${horseshoe.density_functions()}
${priors.density_functions(prior, local_degrees)}
${horseshoe.slice_functions(4 if block > 1 else 1)}
% if block == 1:
${likelihood_vectors.functions(16, family)}
${likelihood_vectors.sum_functions()}
// The sums of log F(eta + t value) over the rows [begin, end) of a line for the first `count` of four t, sixteen rows at a
// time: two vectors of eight, so that the latency of one is hidden by the other
FUNCTION double4 line_likelihoods(const GLOBAL f32* eta, const GLOBAL i32* row_index, const GLOBAL f32* row_value,
    ${arguments.of_likelihood(family)}
    i64 begin, i64 end, float4 t, i32 count) {
    double4 total = 0.0;
    for (i64 k = begin; k < end; k += 16) {
        const i64 last = end - 1;
        float16 at;
        float16 value;
%   if family not in ("probit", "logit"):
        float16 responses;
%   endif
%   if weighted:
        float16 weights;
%   endif
        if (k + 15 <= last && row_index[k + 15] - row_index[k] == 15) {    // rows one after the other, as they are in order
            at = vload16(0, eta + row_index[k]);
            value = vload16(0, row_value + k);
%   if family not in ("probit", "logit"):
            responses = vload16(0, target + row_index[k]);
%   endif
%   if weighted:
            weights = vload16(0, row_weight + row_index[k]);
%   endif
        } else {
%   for i in range(16):
            at.s${f"{i:x}"} = eta[row_index[MIN(k + ${i}, last)]];
%     if family not in ("probit", "logit"):
            responses.s${f"{i:x}"} = target[row_index[MIN(k + ${i}, last)]];
%     endif
%     if weighted:
            weights.s${f"{i:x}"} = row_weight[row_index[MIN(k + ${i}, last)]];
%     endif
            value.s${f"{i:x}"} = row_value[MIN(k + ${i}, last)];
%   endfor
        }
        const int16 used = FIRST(end - k);
%   if family in ("probit", "logit"):
#define LOG_LIKELIHOOD(x) log_likelihood_of_vector(x)${likelihoods.times("weights")}
%   else:
#define LOG_LIKELIHOOD(x) log_likelihood_of_vector(x, responses, shape)${likelihoods.times("weights")}
%   endif
%   for c in range(4):
        if (${c} < count)
            total.s${c} += sum_of_vector(used ? LOG_LIKELIHOOD(at + t.s${c} * value) : (float16)(0.0f));
%   endfor
    }
    return total;
}
% endif

KERNEL LAUNCH_BOUNDS(${block}, 1) move_lines(GLOBAL f64* RESTRICT beta, GLOBAL f32* RESTRICT beta_f32,
    GLOBAL f32* RESTRICT margins, GLOBAL chain_t* RESTRICT chain_state, const GLOBAL i32* RESTRICT member_start,
    const GLOBAL i32* RESTRICT member_column, const GLOBAL f64* RESTRICT member_weight,
    const GLOBAL f64* RESTRICT line_intercept, const GLOBAL i64* RESTRICT row_start, const GLOBAL i32* RESTRICT row_index,
    const GLOBAL f32* RESTRICT row_value, const GLOBAL f64* RESTRICT slab, i64 pitch, i32 q, i32 stride, i32 intercept, i32 nulls,
    i32 null_tries, i32 pairs, i32 pair_tries, i32 tails, i32 tail_tries, f64 first_prior,
    ${arguments.of_likelihood(family)}
    u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration) {
    const u32 step = iteration[0];
    const i32 tail_first = tails > 0 ? (i32)((i64)step * tail_tries % tails) : 0;    // the tails take turns
    LOCAL_ARRAY(f64, part, ${4 * block});
    LOCAL_ARRAY(f64, terms, 4);
    const i32 chain = GROUP_ID;
    const u32 number = stream + ((u32)chain << 8);
    const f64 tau = 1.0 / sqrt(chain_state[chain].tau_precision);
% if random_slab:
    const f64 slab_precision = chain_state[chain].slab_precision;
% endif
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
        f64 mine = 0.0, here = 0.0, there = 0.0;
        for (i32 k = begin + LOCAL_ID; k < end; k += ${block}) {
            const f64 w = member_weight[k];
            const f64 x = b[member_column[k]] / tau;
            const f64 moved = t * w;
            const f64 x_moved = x + moved / tau;
            here += (w < 0.0 ? -w : w) / (1.0 + x * x);
            there += (w < 0.0 ? -w : w) / (1.0 + x_moved * x_moved);
            mine += log_prior_density(x_moved, ${spread("member_column[k]")}) - log_prior_density(x, ${spread("member_column[k]")});
            mine -= 0.5 * slab[member_column[k]]${factor} * moved * (moved + 2.0 * b[member_column[k]]);
        }
        const f32 t_row = (f32)t;
        f64 likelihood = 0.0;
% if block == 1:
        const double4 logs = line_likelihoods(eta, row_index, row_value, ${likelihoods.given(family, "chain")}
            row_start[line], row_start[line + 1], (float4)(t_row, 0.0f, 0.0f, 0.0f), 2);
        likelihood += logs.s0 - logs.s1;
% else:
        for (i64 k = row_start[line] + LOCAL_ID; k < row_start[line + 1]; k += ${block}) {
            const f32 at = eta[row_index[k]];
            likelihood += (f64)${likelihoods.value(family, "at + t_row * row_value[k]", "row_index[k]", "chain")}
                - (f64)${likelihoods.value(family, "at", "row_index[k]", "chain")};
        }
% endif
        mine += likelihood;
        ${reduce.block_sums("part", "f64", block, ["mine", "here", "there"])}
        const f64 shift = t * line_intercept[line];
        f64 change = part[0] + log(part[${block}]) - log(part[${2 * block}]);
        if (intercept)
            change -= 0.5 * first_prior * shift * (shift + 2.0 * b[0]);
        const i32 accepted = log(uniform_f64(words.w3)) < change && change < 1.0e300;
        BARRIER();
        if (accepted) {
            for (i32 k = begin + LOCAL_ID; k < end; k += ${block})
                b[member_column[k]] += t * member_weight[k];
            for (i64 k = row_start[line] + LOCAL_ID; k < row_start[line + 1]; k += ${block})
                eta[row_index[k]] += t_row * row_value[k];
            if (LOCAL_ID == 0 && intercept)
                b[0] += shift;
            jumps += 1.0;
        }
        BARRIER();
    }

    for (i32 i = 0; i < tail_tries; ++i) {
        const i32 line = nulls + pairs + (tail_first + i) % tails;
        const i32 column = member_column[member_start[line]];
        const f64 old = b[column];
        const f64 pivot = intercept ? b[0] : 0.0;
        slice_t s = slice_begin(asinh(old / tau), 3.0, seed, number + 1u, step, tail_first + i);
        while (s.phase < 4) {    // the same for all of a group
            for (i32 k = LOCAL_ID; k < s.count; k += ${block}) {
                const f64 u = SLICE_AT(s, k);
                const f64 x = sinh(u);
                const f64 shift = (tau * x - old) * line_intercept[line];
                f64 density = log_prior_density(x, ${spread("column")}) + log(cosh(u));
                density -= 0.5 * slab[column]${factor} * tau * tau * x * x;
                if (intercept)
                    density -= 0.5 * first_prior * shift * (shift + 2.0 * pivot);
                terms[k] = density;
            }
% for k in range(4):
            const f32 t${k} = (f32)(tau * sinh(s.at${k}) - old);
% endfor
% if block == 1:
            const double4 mine = line_likelihoods(eta, row_index, row_value, ${likelihoods.given(family, "chain")}
            row_start[line], row_start[line + 1], (float4)(t0, t1, t2, t3), s.count);
% else:
            f64 ${", ".join(f"mine{k} = 0.0" for k in range(4))};
            for (i64 k = row_start[line] + LOCAL_ID; k < row_start[line + 1]; k += ${block}) {
                const f32 at = eta[row_index[k]];
                const f32 value = row_value[k];
%   for k in range(4):
                if (${k} < s.count)
                    mine${k} += (f64)${likelihoods.value(family, f"at + t{k} * value", "row_index[k]", "chain")};
%   endfor
            }
% endif
            ${reduce.block_sums("part", "f64", block, [f"mine.s{k}" if block == 1 else f"mine{k}" for k in range(4)])}
% for k in range(4):
            const f64 density${k} = part[${k * block}] + terms[${k}];
% endfor
            BARRIER();
            s = slice_next(s, density0, density1, density2, density3, seed, number + 1u, step, tail_first + i);
        }
        const f64 t = tau * sinh(s.here) - old;
        const f32 t_row = (f32)t;
        for (i64 k = row_start[line] + LOCAL_ID; k < row_start[line + 1]; k += ${block})
            eta[row_index[k]] += t_row * row_value[k];
        if (LOCAL_ID == 0) {
            b[column] = old + t;
            if (intercept)
                b[0] = pivot + t * line_intercept[line];
        }
        BARRIER();
    }

    for (i32 j = LOCAL_ID; j < q; j += ${block})
        beta_f32[(i64)chain * stride + j] = (f32)b[j];
    if (LOCAL_ID == 0)
        chain_state[chain].jumps = jumps;
}
