// select_best: the `wanted` best of `count` individuals; of equals, those with the lower numbers.
//
// The key of the last one in is found by digits of 8 bits from the top, each by a histogram of the keys that share the
// digits before it; then one ordered pass writes chosen[] (ascending) and source[i]: -1 for the chosen, and for the
// others 0, 1, ... in order, the offspring that will take their place.
// Launch: one group.
${status.declaration()}
KERNEL LAUNCH_BOUNDS(${block}, 1) select_best(const GLOBAL i64* RESTRICT keys, i32 count, i32 wanted, GLOBAL i32* RESTRICT chosen,
    GLOBAL i32* RESTRICT source, const GLOBAL status_t* RESTRICT status) {
    if (status->reason != 0)
        return;
    LOCAL_ARRAY(i64, part, ${block});
    LOCAL_ARRAY(i32, histogram, 256);
    LOCAL_ARRAY(i32, digit_found, 2);

    i64 low = keys[0];
    i64 high = low;
    for (i32 i = LOCAL_ID; i < count; i += ${block}) {
        const i64 key = keys[i];
        low = MIN(low, key);
        high = MAX(high, key);
    }
    ${reduce.group_reduce("part", "i64", block, [("low", "min"), ("high", "max")], together=1)}

    const u64 range = (u64)high - (u64)low;
    i32 shift = 0;
    while (shift < 56 && (range >> shift) >= 256)
        shift += 8;
    u64 prefix = 0;
    i32 need = wanted;
    for (; shift >= 0; shift -= 8) {
        for (i32 digit = LOCAL_ID; digit < 256; digit += ${block})
            histogram[digit] = 0;
        BARRIER();
        for (i32 i = LOCAL_ID; i < count; i += ${block}) {
            const u64 offset = ((u64)keys[i] - (u64)low) >> shift;
            if ((offset >> 8) == prefix)
% if block > 1:
                ATOMIC_ADD_I32(&histogram[offset & 255], 1);
% else:
                histogram[offset & 255] += 1;
% endif
        }
        BARRIER();
        if (LOCAL_ID == 0) {
            i32 digit = 255;
            i32 left = need;
            while (digit > 0 && histogram[digit] < left) {
                left -= histogram[digit];
                digit -= 1;
            }
            digit_found[0] = digit;
            digit_found[1] = left;
        }
        BARRIER();
        prefix = (prefix << 8) | (u64)digit_found[0];
        need = digit_found[1];
        BARRIER();
    }

    i32 better_before = 0, equal_before = 0;
    for (i32 base = 0; base < count; base += ${block * items}) {
        i32 better = 0, equal = 0;
        const i32 begin = base + LOCAL_ID * ${items};
        const i32 end = MIN(begin + ${items}, count);
        for (i32 i = begin; i < end; ++i) {
            const u64 offset = (u64)keys[i] - (u64)low;
            better += offset > prefix;
            equal += offset == prefix;
        }
% if block > 1:
        const i64 mine = ((i64)better << 32) | equal;
        part[LOCAL_ID] = mine;
${scan.block_inclusive("part", "i64", block)}
        const i64 before = part[LOCAL_ID] - mine;
        const i64 all = part[${block - 1}];
        better = better_before + (i32)(before >> 32);
        equal = equal_before + (i32)(before & 0x7FFFFFFF);
        better_before += (i32)(all >> 32);
        equal_before += (i32)(all & 0x7FFFFFFF);
% else:
        const i32 betters = better;
        const i32 equals = equal;
        better = better_before;
        equal = equal_before;
        better_before += betters;
        equal_before += equals;
% endif
        for (i32 i = begin; i < end; ++i) {
            const u64 offset = (u64)keys[i] - (u64)low;
            const i32 taken = better + MIN(equal, need);
            const i32 is_taken = offset > prefix || (offset == prefix && equal < need);
            if (is_taken)
                chosen[taken] = i;
            source[i] = is_taken ? -1 : i - taken;
            better += offset > prefix;
            equal += offset == prefix;
        }
        BARRIER();
    }
}
