// shards[s][i] = the sum over the strips of shard s of partial[strip][i], in their order, for i < count
//
// Launch: shard_count x ceil(count / ${block * columns}) groups of ${block}; a work-item adds ${columns} neighbouring columns.
// bounds holds shard_count + 1 strip numbers. What is added to what depends on the data's shape alone.
<%
    ahead = 16   # loads that are on their way together
%>
KERNEL LAUNCH_BOUNDS(${block}, 1) gather_shards(const GLOBAL ${value}* RESTRICT partial, i32 count,
    const GLOBAL i32* RESTRICT bounds, GLOBAL f64* RESTRICT shards, i32 first_shard) {
    const i32 tiles = (count + ${block * columns - 1}) / ${block * columns};
    const i32 shard = GROUP_ID / tiles;
    const i32 first = (GROUP_ID % tiles) * ${block * columns};
    const i32 begin = bounds[shard];
    const i32 end = bounds[shard + 1];
    GLOBAL f64* out = shards + (i64)(first_shard + shard) * count;
% if columns == 1:
    const i32 i = first + LOCAL_ID;
    if (i < count) {
        const GLOBAL ${value}* from = partial + i;
        f64 sum = 0.0;
        i32 strip = begin;
        for (; strip + ${ahead} <= end; strip += ${ahead}) {
% for k in range(ahead):
            const ${value} v${k} = from[(i64)(strip + ${k}) * count];
% endfor
% for k in range(ahead):
            sum += (f64)v${k};
% endfor
        }
        for (; strip < end; ++strip)
            sum += (f64)from[(i64)strip * count];
        out[i] = sum;
    }
% else:
    f64 sums[${columns}];
    const i32 used = MIN(${columns}, count - first);
    for (i32 i = 0; i < ${columns}; ++i)
        sums[i] = 0.0;
    for (i32 strip = begin; strip < end; ++strip) {
        const GLOBAL ${value}* from = partial + (i64)strip * count + first;
        for (i32 i = 0; i < used; ++i)
            sums[i] += (f64)from[i];
    }
    for (i32 i = 0; i < used; ++i)
        out[first + i] = sums[i];
% endif
}
