<% edge = 16 * each %>
// Counting as a product of bit matrices, by AND and popcount: see rows.mako for what is counted.
//
// Launch: a group of 256 work-items (16 x 16) for each tile of ${edge} rows x ${edge} candidates, of which a work-item has
// ${each} x ${each}; tiles without a candidate return at once. Planes come through local memory, ${depth} words at a time.
${status.declaration()}
% for mode in ("pairs", "rows"):

KERNEL LAUNCH_BOUNDS(256, 1) count_${mode}(${rows.row_arguments()}) {
    LOCAL_ARRAY(u32, left, ${depth * (edge + 1)});
    LOCAL_ARRAY(u32, right, ${depth * (edge + 1)});
${rows.tile_of_group(mode, edge)}

    i32 sums[${each}][${each}];
% for i in range(each):
% for j in range(each):
    sums[${i}][${j}] = 0;
% endfor
% endfor
    const i32 y = LOCAL_ID / 16;
    const i32 x = LOCAL_ID % 16;
    for (i32 start = 0; start < words; start += ${depth}) {
        for (i32 item = LOCAL_ID; item < ${edge * depth}; item += 256) {
            const i32 line = item / ${depth};
            const i32 word = item % ${depth};
            const i32 candidate = first_candidate + line;
            const i32 row = first_row + line;
            right[word * ${edge + 1} + line] = candidate < n ? planes[(i64)candidate * words + start + word] : 0u;
% if mode == "pairs":
            left[word * ${edge + 1} + line] = row < total ? planes[(i64)row * words + start + word] : 0u;
% else:
            left[word * ${edge + 1} + line] = row < total
                ? masks[((i64)active[1 + row / per] * rows + base + row % per) * words + start + word] : 0u;
% endif
        }
        BARRIER();
        for (i32 word = 0; word < ${depth}; ++word) {
% for i in range(each):
            const u32 l${i} = left[word * ${edge + 1} + y + ${16 * i}];
            const u32 r${i} = right[word * ${edge + 1} + x + ${16 * i}];
% endfor
% for i in range(each):
% for j in range(each):
            sums[${i}][${j}] += COUNT_BITS_U32(l${i} & r${j});
% endfor
% endfor
        }
        BARRIER();
    }
% for i in range(each):
    {
        const i32 row = first_row + y + ${16 * i};
        if (row < total) {
${rows.target_of_row(mode)}
% for j in range(each):
            {
                const i32 candidate = first_candidate + x + ${16 * j};
                if (candidate < limit) {
                    target[candidate] = sums[${i}][${j}];
% if mode == "pairs":
                    pairs[(i64)candidate * n + row] = sums[${i}][${j}];
% endif
                }
            }
% endfor
        }
    }
% endfor
}
% endfor
