<%doc>
Philox4x32-10: random words as a pure function of a counter and a key, with no state to keep or to skip ahead.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11. A call turns a
counter of four 32-bit words and a key of two into four random words: ten rounds of two 32 x 32 -> 64-bit products each,
the key advanced by two constants (the golden ratio and sqrt(3) - 1, as fractions of 2^32) between rounds.

Quintet lays its counter out so that a draw depends on what it is for, never on who makes it:

    c0   index, bits 0..31                      what is drawn: an observation, a node, a gene
    c1   index, bits 32..47 | attempt << 16     attempt counts the retries of a rejection method
    c2   step                                   iteration of the algorithm
    c3   stream | chain << 8                    which of the algorithm's draws, and which of its independent chains
    k0   seed, bits 0..31
    k1   seed, bits 32..63

    ${philox.functions()}            words and f32 numbers
    ${philox.double_functions()}     these and f64 numbers; needs the device's fp64
    ${philox.rounds(word, multiply_high)}    the ten rounds on c0..c3, k0, k1; of vectors of words too

The NumPy reference is engine/numerics/philox.py: the same words and the same numbers, bit for bit.
</%doc>
<%def name="rounds(word, multiply_high)">
% for round in range(10):
    {
        const ${word} high0 = ${multiply_high}(0xD2511F53u, c0);
        const ${word} high1 = ${multiply_high}(0xCD9E8D57u, c2);
        const ${word} low0 = 0xD2511F53u * c0;
        const ${word} low1 = 0xCD9E8D57u * c2;
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
% endfor
</%def>
<%def name="functions()">
typedef struct { u32 w0, w1, w2, w3; } philox_words_t;

// The block function itself, for a counter of any layout.
FUNCTION philox_words_t philox4x32(u32 c0, u32 c1, u32 c2, u32 c3, u32 k0, u32 k1) {
${rounds("u32", "MULTIPLY_HIGH_U32")}
    philox_words_t words;
    words.w0 = c0;
    words.w1 = c1;
    words.w2 = c2;
    words.w3 = c3;
    return words;
}

// Four words for 0 <= index < 2^48 and 0 <= attempt < 2^16; stream is stream | chain << 8, as the host packs it.
FUNCTION philox_words_t philox_words(u64 seed, u32 stream, u32 step, i64 index, u32 attempt) {
    const u32 c1 = (u32)((u64)index >> 32) | (attempt << 16);
    return philox4x32((u32)index, c1, step, stream, (u32)seed, (u32)(seed >> 32));
}

// (floor(word / 2^9) + 1/2) / 2^23: the middles of 2^23 equal parts of (0, 1), from 2^-24 to 1 - 2^-24. Every step is
// exact, so nothing rounds to 0 or 1, and it makes no difference whether the compiler fuses operations.
FUNCTION f32 uniform_f32(u32 word) { return ((f32)(word >> 9) + 0.5f) * 1.1920928955078125e-07f; }
</%def>
<%def name="double_functions()">
${functions()}
// (word + 1/2) / 2^32: from 2^-33 to 1 - 2^-33, exactly.
FUNCTION f64 uniform_f64(u32 word) { return ((f64)word + 0.5) * 2.3283064365386962890625e-10; }

// (floor((high 2^32 + low) / 2^12) + 1/2) / 2^52: from 2^-53 to 1 - 2^-53, exactly.
FUNCTION f64 uniform_f64_wide(u32 high, u32 low) {
    return ((f64)(i64)(((u64)high << 20) | (low >> 12)) + 0.5) * 2.220446049250313080847263336181640625e-16;
}
</%def>
