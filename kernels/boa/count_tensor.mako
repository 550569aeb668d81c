<%namespace name="rows" file="/boa/rows.mako"/>
// Counting as a product of bit matrices on NVIDIA's tensor cores: see rows.mako for what is counted.
//
// mma.sync m16n8k256 .b1 .and.popc (PTX ISA 7.1, sm_80 on) adds the ones of 16 rows AND 8 candidates over 256 bits. Lane
// 4 g + t of a warp gives words t and t + 4 of rows g and g + 8 and of candidate g, and receives the sums of rows g and
// g + 8 with candidates 2 t and 2 t + 1.
// Only in CUDA, for compute capability 8.0 on; other languages get an empty source.
// Launch: 256 work-items for each tile of 128 rows x 128 candidates; a warp has 64 x 32 of it. Planes come through local
// memory, 16 words at a time, in lines of 20 words, so that the eight lines a warp reads at once lie in different banks.
% if language == "cuda":
% for mode in ("pairs", "rows"):

KERNEL LAUNCH_BOUNDS(256, 1) count_${mode}(${rows.row_arguments()})
{
    LOCAL_ARRAY(u32, left, 128 * 20);
    LOCAL_ARRAY(u32, right, 128 * 20);
    const i32 across = (n + 127) / 128;
    const i32 first_row = GROUP_ID / across * 128;
    const i32 first_candidate = GROUP_ID % across * 128;
% if mode == "pairs":
    const i32 total = n;
    const i32 last_node = MIN(first_row + 127, n - 1);
    const i32 needed = status[0] == 0 && first_candidate <= last_node;
% else:
    const i32 per = (1 << level) - 1;
    const i32 total = active[0] * per;
    const i32 last = MIN(first_row + 127, total - 1);
    const i32 needed = status[0] == 0 && first_row < total && first_candidate < first_node + active[1 + last / per];
% endif
    if (!needed)
        return;

    const i32 lane = LOCAL_ID % 32;
    const i32 g = lane / 4;
    const i32 t = lane % 4;
    const i32 warp_row = LOCAL_ID / 32 / 4 * 64;
    const i32 warp_candidate = LOCAL_ID / 32 % 4 * 32;
    i32 sums[4][4][4];
% for i in range(4):
% for j in range(4):
    sums[${i}][${j}][0] = sums[${i}][${j}][1] = sums[${i}][${j}][2] = sums[${i}][${j}][3] = 0;
% endfor
% endfor

    // A work-item copies two fours of words of a row, and two of a candidate.
    const GLOBAL u32* from_left[2];
    const GLOBAL u32* from_right[2];
    i32 place[2];
% for part in range(2):
    {
        const i32 line = (LOCAL_ID + ${256 * part}) / 4;
        place[${part}] = line * 20 + LOCAL_ID % 4 * 4;
        const i32 candidate = MIN(first_candidate + line, n - 1);
        const i32 row = MIN(first_row + line, total - 1);
        from_right[${part}] = planes + (i64)candidate * words + LOCAL_ID % 4 * 4;
% if mode == "pairs":
        from_left[${part}] = planes + (i64)row * words + LOCAL_ID % 4 * 4;
% else:
        from_left[${part}] = masks + ((i64)active[1 + row / per] * rows + (per - level) + row % per) * words
            + LOCAL_ID % 4 * 4;
% endif
    }
% endfor
    for (i32 start = 0; start < words; start += 16) {
% for part in range(2):
        *(uint4*)(left + place[${part}]) = *(const uint4*)(from_left[${part}] + start);
        *(uint4*)(right + place[${part}]) = *(const uint4*)(from_right[${part}] + start);
% endfor
        BARRIER();
% for chunk in range(2):
        {
            u32 a[4][4], b[4][2];
% for i in range(4):
            {
                const u32* line = left + (warp_row + ${16 * i} + g) * 20 + ${8 * chunk} + t;
                a[${i}][0] = line[0];
                a[${i}][1] = line[8 * 20];
                a[${i}][2] = line[4];
                a[${i}][3] = line[8 * 20 + 4];
                const u32* other = right + (warp_candidate + ${8 * i} + g) * 20 + ${8 * chunk} + t;
                b[${i}][0] = other[0];
                b[${i}][1] = other[4];
            }
% endfor
% for i in range(4):
% for j in range(4):
#if __CUDA_ARCH__ >= 800
            asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
                "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+r"(sums[${i}][${j}][0]), "+r"(sums[${i}][${j}][1]), "+r"(sums[${i}][${j}][2]), "+r"(sums[${i}][${j}][3])
                : "r"(a[${i}][0]), "r"(a[${i}][1]), "r"(a[${i}][2]), "r"(a[${i}][3]), "r"(b[${j}][0]), "r"(b[${j}][1]));
#endif
% endfor
% endfor
        }
% endfor
        BARRIER();
    }
    for (i32 i = 0; i < 4; ++i)
        for (i32 lower = 0; lower < 2; ++lower) {
            const i32 row = first_row + warp_row + 16 * i + 8 * lower + g;
            if (row >= total)
                continue;
% if mode == "pairs":
            const i32 limit = row + 1;
            GLOBAL i32* target = pairs + (i64)row * n;
% else:
            const i32 slot = active[1 + row / per];
            const i32 limit = first_node + slot;
            GLOBAL i32* target = counts + ((i64)slot * rows + (per - level) + row % per) * n;
% endif
            for (i32 j = 0; j < 4; ++j)
                for (i32 side = 0; side < 2; ++side) {
                    const i32 candidate = first_candidate + warp_candidate + 8 * j + 2 * t + side;
                    const i32 sum = lower == 0 ? (side == 0 ? sums[i][j][0] : sums[i][j][1])
                                              : (side == 0 ? sums[i][j][2] : sums[i][j][3]);
                    if (candidate < limit) {
                        target[candidate] = sum;
% if mode == "pairs":
                        pairs[(i64)candidate * n + row] = sum;
% endif
                    }
                }
        }
}
% endfor
% endif
