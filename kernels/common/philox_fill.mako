// out = the random words, or numbers, of the indices first, first + 1, ..., first + count - 1
//
// Launch: any shape; work-item t makes the indices first + t, first + t + GLOBAL_SIZE, ...
// out holds ${"2" if output == "f64_wide" else "4"} values an index, in the order of the words they are made of.
${philox.double_functions() if output.startswith("f64") else philox.functions()}
<%
    value = {"f64_wide": "f64"}.get(output, output)
    draws = {
        "u32": [f"words.w{k}" for k in range(4)],
        "f32": [f"uniform_f32(words.w{k})" for k in range(4)],
        "f64": [f"uniform_f64(words.w{k})" for k in range(4)],
        "f64_wide": ["uniform_f64_wide(words.w0, words.w1)", "uniform_f64_wide(words.w2, words.w3)"],
    }[output]
%>

KERNEL LAUNCH_BOUNDS(${block}, 1) fill_random(GLOBAL ${value}* RESTRICT out, i64 count,
    u64 seed, u32 stream, u32 step, i64 first, u32 attempt) {
    for (i64 i = GLOBAL_ID; i < count; i += GLOBAL_SIZE) {
        const philox_words_t words = philox_words(seed, stream, step, first + i, attempt);
% for k, draw in enumerate(draws):
        out[${len(draws)} * i + ${k}] = ${draw};
% endfor
    }
}
