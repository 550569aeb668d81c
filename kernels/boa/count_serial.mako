// Counting by AND and popcount, for devices whose work-items are best one to a core: see rows.mako for what is counted.
//
// Launch: a group of one work-item a row; it goes through the candidates ${candidates_each} at a time.
${status.declaration()}
% for mode in ("pairs", "rows"):

KERNEL LAUNCH_BOUNDS(1, 1) count_${mode}(${rows.row_arguments()}) {
    if (status->reason != 0)
        return;
    const i32 length = words / 2;
% if mode == "pairs":
    const i32 node = GROUP_ID;
    const i32 candidates = node + 1;
    const GLOBAL u64* mask = (const GLOBAL u64*)(planes + (i64)node * words);
    GLOBAL i32* target = pairs + (i64)node * n;
% else:
    if (GROUP_ID >= active[0] * per)
        return;
    const i32 slot = active[1 + GROUP_ID / per];
    const i64 row = (i64)slot * rows + base + GROUP_ID % per;
    const i32 candidates = first_node + slot;
    const GLOBAL u64* mask = (const GLOBAL u64*)(masks + row * words);
    GLOBAL i32* target = counts + row * n;
% endif
    i32 j = 0;
    for (; j + ${candidates_each} <= candidates; j += ${candidates_each}) {
% for c in range(candidates_each):
        const GLOBAL u64* plane${c} = (const GLOBAL u64*)(planes + (i64)(j + ${c}) * words);
        u64 sum${c} = 0;
% endfor
        for (i32 w = 0; w < length; ++w) {
            const u64 bits = mask[w];
% for c in range(candidates_each):
            sum${c} += COUNT_BITS_U64(bits & plane${c}[w]);
% endfor
        }
% for c in range(candidates_each):
        target[j + ${c}] = (i32)sum${c};
% endfor
    }
    for (; j < candidates; ++j) {
        const GLOBAL u64* plane = (const GLOBAL u64*)(planes + (i64)j * words);
        u64 sum = 0;
        for (i32 w = 0; w < length; ++w)
            sum += COUNT_BITS_U64(mask[w] & plane[w]);
        target[j] = (i32)sum;
    }
% if mode == "pairs":
    for (j = 0; j < candidates; ++j)
        pairs[(i64)j * n + node] = target[j];
% endif
}
% endfor
