<%doc>
Fitness as a sum of tables over few genes each, straight from the bit planes.

A group takes 32 individuals, one word of every plane. On GPUs work-item i is individual i % 32 and every ${"slices"}-th
function; on CPUs the one work-item of a group takes all 32, function by function.
</%doc>
// key = base_key + sum over functions f of table_f[genes of f, the first the lowest bit]
//
// Launch: a group of ${block} work-items for each word of 32 individuals from `first` to `count`.
// planes[g * stride + w]; scope_starts[f] .. scope_starts[f + 1] - 1 index `genes`; table_starts[f] indexes `tables`.
${status.declaration()}
typedef ${sum} sum_t;
<% slices = block // 32 %>
KERNEL LAUNCH_BOUNDS(${block}, 1) evaluate(const GLOBAL u32* RESTRICT planes, i32 stride, i32 first, i32 count,
    GLOBAL i64* RESTRICT keys, const GLOBAL status_t* RESTRICT status, const GLOBAL i32* RESTRICT genes,
    const GLOBAL i32* RESTRICT scope_starts, const GLOBAL i32* RESTRICT table_starts, const GLOBAL sum_t* RESTRICT tables,
    i32 functions, i64 base_key) {
    if (status->reason != 0)
        return;
    const GLOBAL u32* column = planes + first / 32 + GROUP_ID;
    const i32 base = first + 32 * GROUP_ID;
% if block == 1:
    sum_t sums[32];
    i32 index[32];
    for (i32 lane = 0; lane < 32; ++lane)
        sums[lane] = 0;
    for (i32 f = 0; f < functions; ++f) {
        const GLOBAL sum_t* table = tables + table_starts[f];
% if width:
        const GLOBAL i32* scope = genes + f * ${width};
% for place in range(width):
        const u32 word${place} = column[(i64)scope[${place}] * stride];
% endfor
        for (i32 lane = 0; lane < 32; ++lane)
            index[lane] = (i32)(${" | ".join(f"(((word{place} >> lane) & 1u) << {place})" for place in range(width))});
% else:
        for (i32 lane = 0; lane < 32; ++lane)
            index[lane] = 0;
        for (i32 at = scope_starts[f]; at < scope_starts[f + 1]; ++at) {
            const u32 word = column[(i64)genes[at] * stride];
            const i32 place = at - scope_starts[f];
            for (i32 lane = 0; lane < 32; ++lane)
                index[lane] |= (i32)(((word >> lane) & 1u) << place);
        }
% endif
        for (i32 lane = 0; lane < 32; ++lane)
            sums[lane] += table[index[lane]];
    }
    for (i32 lane = 0; lane < 32; ++lane)
        if (base + lane < count)
            keys[base + lane] = base_key + sums[lane];
% else:
    LOCAL_ARRAY(sum_t, parts, ${block});
    const i32 lane = LOCAL_ID & 31;
    sum_t sum = 0;
    for (i32 f = LOCAL_ID / 32; f < functions; f += ${slices}) {
        const GLOBAL sum_t* table = tables + table_starts[f];
        u32 index = 0;
% if width:
        const GLOBAL i32* scope = genes + f * ${width};
% for place in range(width):
        index |= ((column[(i64)scope[${place}] * stride] >> lane) & 1u) << ${place};
% endfor
% else:
        const i32 start = scope_starts[f];
        const i32 end = scope_starts[f + 1];
        for (i32 at = start; at < end; ++at)
            index |= ((column[(i64)genes[at] * stride] >> lane) & 1u) << (at - start);
% endif
        sum += table[index];
    }
    parts[LOCAL_ID] = sum;
    BARRIER();
    if (LOCAL_ID < 32 && base + lane < count) {
        i64 key = base_key;
        for (i32 slice = 0; slice < ${slices}; ++slice)
            key += parts[32 * slice + lane];
        keys[base + lane] = key;
    }
% endif
}
