<%doc>
Variates of the distribution PG(1, c) of Polya and Gamma, f64: N. G. Polson, J. G. Scott, J. Windle, "Bayesian inference for
logistic models using Polya-Gamma latent variables", JASA 108 (2013), section 4, which is L. Devroye's method of alternating
series for J*(1, c / 2).

    philox.double_functions(), variates.latent_functions() and variates.scale_functions() come first
    polya_gamma.functions()
</%doc>
<%def name="functions()">
#define PG_CUT 0.64
#define PG_PI 3.14159265358979323846

// The normal distribution function
FUNCTION f64 pg_normal_below(f64 x) { return 0.5 * erfc(-0.70710678118654752 * x); }

// Term n of the series for the density of J*(1, 0) at x
FUNCTION f64 pg_term(i32 n, f64 x) {
    const f64 h = (f64)n + 0.5;
    if (x > PG_CUT)
        return PG_PI * h * exp(-0.5 * h * h * PG_PI * PG_PI * x);
    const f64 u = 2.0 / (PG_PI * x);
    return u * sqrt(u) * PG_PI * h * exp(-2.0 * h * h / x);
}

// The share of PG's proposal that is right of the cut, z = |c| / 2
FUNCTION f64 pg_right_share(f64 z) {
    if (z > 30.0)
        return 0.0;
    const f64 rate = 0.125 * PG_PI * PG_PI + 0.5 * z * z;
    const f64 right = PG_PI / (2.0 * rate) * exp(-rate * PG_CUT);
    const f64 left = 2.0 * exp(-z) * pg_normal_below(1.25 * (PG_CUT * z - 1.0))
        + 2.0 * exp(z) * pg_normal_below(-1.25 * (PG_CUT * z + 1.0));
    return right / (left + right);
}

typedef struct { f64 value; u32 attempt; } pg_draw_t;

// An inverse normal variate of mean 1 / z and shape 1, given that it is below the cut; attempts from `attempt` on are used
FUNCTION pg_draw_t pg_inverse_normal(f64 z, u64 seed, u32 stream, u32 step, i64 index, u32 attempt) {
    pg_draw_t drawn;
    drawn.value = 0.5 * PG_CUT;
    drawn.attempt = attempt;
    i32 done = 0;
    while (!done && drawn.attempt < 60000u) {
        const philox_words_t words = philox_words(seed, stream, step, index, drawn.attempt);
        drawn.attempt += 1u;
        if (z * PG_CUT < 1.0) {
            const f64 e = exponential_of(uniform_f64(words.w0));
            const f64 other = exponential_of(uniform_f64(words.w1));
            const f64 d = 1.0 + PG_CUT * e;
            const f64 x = PG_CUT / (d * d);
            if (e * e <= 2.0 * other / PG_CUT && uniform_f64(words.w2) < exp(-0.5 * z * z * x)) {
                drawn.value = x;
                done = 1;
            }
        } else {
            const f64 normal = sqrt(-2.0 * log(uniform_f64(words.w0))) * cospi(2.0 * uniform_f64(words.w1));
            const f64 w = normal * normal / z;
            f64 x = 1.0 / (z * (1.0 + 0.5 * w + 0.5 * sqrt(4.0 * w + w * w)));
            if (uniform_f64(words.w2) * (1.0 + z * x) > 1.0)
                x = 1.0 / (z * z * x);
            if (x < PG_CUT) {
                drawn.value = x;
                done = 1;
            }
        }
    }
    return drawn;
}

FUNCTION f64 draw_polya_gamma(f64 c, u64 seed, u32 stream, u32 step, i64 index) {
    const f64 z = 0.5 * (c < 0.0 ? -c : c);
    const f64 rate = 0.125 * PG_PI * PG_PI + 0.5 * z * z;
    const f64 share = pg_right_share(z);
    f64 x = PG_CUT;
    u32 attempt = 0u;
    i32 done = 0;
    while (!done && attempt < 60000u) {    // a NaN ends here
        const philox_words_t words = philox_words(seed, stream, step, index, attempt);
        attempt += 1u;
        if (uniform_f64(words.w0) < share) {
            x = PG_CUT + exponential_of(uniform_f64(words.w1)) / rate;
        } else {
            const pg_draw_t drawn = pg_inverse_normal(z, seed, stream, step, index, attempt);
            x = drawn.value;
            attempt = drawn.attempt;
        }
        f64 sum = pg_term(0, x);
        const f64 level = uniform_f64_wide(words.w2, words.w3) * sum;
        for (i32 n = 1; n < 200; ++n) {
            if (n % 2 == 1) {
                sum -= pg_term(n, x);
                if (level <= sum) {
                    done = 1;
                    break;
                }
            } else {
                sum += pg_term(n, x);
                if (level > sum)
                    break;
            }
        }
    }
    return 0.25 * x;
}
</%def>
