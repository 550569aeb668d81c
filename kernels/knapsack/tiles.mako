<%namespace name="row" file="/knapsack/row.mako"/>
// out = the row after `count` items:  f[c] = max(f[c], f[c - weight] + profit), item by item, in local memory
//
// A group makes the `span` cells from out_lo + g * span on. It loads them and the `halo` = sum of the fused weights cells
// before them; after each item the cells that are still right begin one weight later, and after the last they are the
// span. Position q of the tile is capacity start - halo + q.
// Launch: `block` work-items a group, each with ${cells} cells of the tile in registers, at q = j * block + LOCAL_ID.
${row.declarations()}

KERNEL LAUNCH_BOUNDS(${block}, ${groups_per_unit}) advance_tile(${row.arguments()}, i64 span,
    const GLOBAL i32* RESTRICT weights, const GLOBAL value_t* RESTRICT profits, i32 first, i32 count, i32 halo)
{
    DYNAMIC_LOCAL_ARRAY(value_t, tile, ${block * cells});
    const i64 start = out_lo + GROUP_ID * span;
    const i64 origin = start - halo;
    const i32 used = (i32)(MIN(start + span - 1, out_hi) - origin) + 1;
    const i32 me = LOCAL_ID;
    value_t f[${cells}];
% for j in range(cells):
    if (${j * block} < used) {
        const i64 c = origin + ${j * block} + me;
        f[${j}] = READ(c);
        tile[${j * block} + me] = f[${j}];
    }
% endfor
    i32 valid = 0;
    for (i32 item = first; item < first + count; ++item) {
        const i32 weight = weights[item];
        const value_t profit = profits[item];
        valid += weight;
        BARRIER();
        const i32 from = me - weight;
% for j in range(cells):
        if (${(j + 1) * block} > valid && ${j * block} < used)
            f[${j}] = MAX(tile[MAX(from + ${j * block}, 0)] + profit, f[${j}]);
% endfor
        BARRIER();
% for j in range(cells):
        if (${(j + 1) * block} > valid && ${j * block} < used)
            tile[${j * block} + me] = f[${j}];
% endfor
    }
% for j in range(cells):
    if (${j * block} + me >= halo && ${j * block} + me < used)
        out[origin + ${j * block} + me - out_base] = f[${j}];
% endfor
}
