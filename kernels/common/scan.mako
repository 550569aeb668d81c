<%doc>
Exclusive prefix sums, of a group's values or of a whole buffer.

Inside another kernel:

    LOCAL_ARRAY(i32, offset, ${block});
    offset[LOCAL_ID] = mine;
    ${scan.block_inclusive("offset", "i32", block)}

turns element i of a local array of `block` elements, each written by its own work-item, into the sum of the elements
0 .. i. What comes before i is then offset[i] - mine, and the sum of all is the last element, which every work-item may
read. The statements begin and end with a barrier, so every work-item of the group must reach them, and one more barrier
is needed before the array is written again.
</%doc>
<%def name="block_inclusive(values, type, block)">
    BARRIER();
<% distance = 1 %>
% while distance < block:
    {
        const ${type} scan_before = LOCAL_ID >= ${distance} ? ${values}[LOCAL_ID - ${distance}] : (${type})0;
        BARRIER();
        ${values}[LOCAL_ID] += scan_before;
        BARRIER();
    }
<% distance *= 2 %>
% endwhile
</%def>
// prefixes[i] = values[0] + ... + values[i - 1]
//
// Three launches for up to one tile of tiles, and two more for every further level:
//   scan_tiles    within each tile of ${block * items} values; totals[t] = the sum of tile t
//   scan_tiles    of the totals, in place
//   add_offsets   prefixes[i] += totals[tile of i]
// Launch: a group of ${block} work-items a tile; a work-item owns ${items} neighbouring values. Sums are made in 64 bits and
// narrowed where they are stored. prefixes may be the buffer of the values itself.

KERNEL LAUNCH_BOUNDS(${block}, 1) scan_tiles(const GLOBAL ${value}* values, i64 count, GLOBAL ${prefix}* prefixes,
    GLOBAL i64* RESTRICT totals) {
    LOCAL_ARRAY(i64, part, ${block});
    const i64 first = ((i64)GROUP_ID * ${block} + LOCAL_ID) * ${items};
    const i64 end = MIN(first + ${items}, count);
    i64 mine = 0;
    for (i64 i = first; i < end; ++i)
        mine += values[i];
    part[LOCAL_ID] = mine;
${block_inclusive("part", "i64", block)}
    i64 before = part[LOCAL_ID] - mine;
    for (i64 i = first; i < end; ++i) {
        const i64 next = values[i];
        prefixes[i] = (${prefix})before;
        before += next;
    }
    if (LOCAL_ID == ${block - 1})
        totals[GROUP_ID] = before;
}

KERNEL LAUNCH_BOUNDS(${block}, 1) add_offsets(GLOBAL ${prefix}* RESTRICT prefixes, i64 count, const GLOBAL i64* RESTRICT offsets) {
    const i64 first = (i64)GROUP_ID * ${block * items};
    const i64 end = MIN(first + ${block * items}, count);
    const i64 offset = offsets[GROUP_ID];
    for (i64 i = first + LOCAL_ID; i < end; i += ${block})
        prefixes[i] = (${prefix})(prefixes[i] + offset);
}
