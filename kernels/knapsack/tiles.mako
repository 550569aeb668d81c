// target = the row after `count` items:  f[c] = max(f[c], f[c - weight] + profit), item by item, in local memory
//
// A group makes the `span` cells from target_lo + g * span on. It loads them and the `halo` = sum of the fused weights cells
// before them; after each item the valid cells begin one weight later, and after the last item they are the
// span. Position q of the tile is capacity start - halo + q.
// Launch: `block` work-items a group, each with ${cells} cells of the tile in registers, at q = j * block + LOCAL_ID. They
// are worked on in strips of ${strip} * block positions: a strip without valid cells is skipped, and only
// a strip that begins below the weight needs its index clamped (a clamped read only enters cells that are not valid).
${row.declarations()}
<%
    width = strip * block
    strips = range(cells // strip)
%>

KERNEL LAUNCH_BOUNDS(${block}, ${groups_per_unit}) advance_tile(${row.arguments()}, i64 span,
    const GLOBAL i32* RESTRICT weights, const GLOBAL value_t* RESTRICT profits, i32 first, i32 count, i32 halo) {
    DYNAMIC_LOCAL_ARRAY(value_t, tile, ${block * cells});
    const i64 start = target_lo + GROUP_ID * span;
    const i64 origin = start - halo;
    const i32 used = (i32)(MIN(start + span - 1, target_hi) - origin) + 1;
    const i32 me = LOCAL_ID;
    LOCAL value_t* mine = tile + me;
    value_t f[${cells}];
% for s in strips:
    if (${s * width} < used) {
        if (origin + ${s * width} >= source_lo && origin + ${(s + 1) * width - 1} <= source_hi) {
            const GLOBAL value_t* from = source + (origin + me - source_base);
% for j in range(s * strip, (s + 1) * strip):
            f[${j}] = from[${j * block}];
% endfor
        } else {
            const i64 c = origin + me;
% for j in range(s * strip, (s + 1) * strip):
            f[${j}] = READ(c + ${j * block});
% endfor
        }
    }
% endfor
% for s in strips:
    if (${s * width} < used) {
% for j in range(s * strip, (s + 1) * strip):
        mine[${j * block}] = f[${j}];
% endfor
    }
% endfor
    i32 valid = 0;
    for (i32 item = first; item < first + count; ++item) {
        const i32 weight = weights[item];
        const value_t profit = profits[item];
        valid += weight;
        BARRIER();
        LOCAL const value_t* below = tile + (me - weight);
% for s in strips:
        if (${(s + 1) * width} > valid && ${s * width} < used) {
            if (weight <= ${s * width}) {
% for j in range(s * strip, (s + 1) * strip):
                f[${j}] = MAX(below[${j * block}] + profit, f[${j}]);
% endfor
            } else {
% for j in range(s * strip, (s + 1) * strip):
                f[${j}] = MAX(tile[MAX(me + ${j * block} - weight, 0)] + profit, f[${j}]);
% endfor
            }
        }
% endfor
        BARRIER();
% for s in strips:
        if (${(s + 1) * width} > valid && ${s * width} < used) {
% for j in range(s * strip, (s + 1) * strip):
            mine[${j * block}] = f[${j}];
% endfor
        }
% endfor
    }
    GLOBAL value_t* to = target + (origin + me - target_base);
% for s in strips:
    if (${s * width} >= halo && ${(s + 1) * width} <= used) {
% for j in range(s * strip, (s + 1) * strip):
        to[${j * block}] = f[${j}];
% endfor
    } else if (${(s + 1) * width} > halo && ${s * width} < used) {
% for j in range(s * strip, (s + 1) * strip):
        if (me + ${j * block} >= halo && me + ${j * block} < used)
            to[${j * block}] = f[${j}];
% endfor
    }
% endfor
}
