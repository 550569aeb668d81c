// Counting as a product of bit matrices on NVIDIA's tensor cores: see rows.mako for what is counted.
//
// mma.sync m16n8k256 .b1 .and.popc (PTX ISA 7.1, sm_80 on) adds the ones of 16 rows AND 8 candidates over 256 bits. Lane
// 4 g + t of a warp gives words t and t + 4 of rows g and g + 8 and of candidate g, and receives the sums of rows g and
// g + 8 with candidates 2 t and 2 t + 1.
// Only on NVIDIA's devices of compute capability 8.0 on, in CUDA and, by the same inline PTX, in their OpenCL; elsewhere the
// kernels compile, and count nothing.
// Launch: 256 work-items for each tile of 128 rows x 128 candidates; a warp has 64 x 32 of it. Planes come through local
// memory, 16 words (four chunks of 16 bytes) of each row at a time and ${stages} times ahead. Chunk c of line r stands at
// c ^ (r / 2 % 4), so that the eight lines that ldmatrix reads at once lie in different banks.
${status.declaration()}
#if defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ >= 800
#define TENSOR_CORES
#endif
#define LOCAL_ADDRESS(pointer) ((u32)__cvta_generic_to_shared(pointer))
#elif defined(cl_nv_pragma_unroll)
#define TENSOR_CORES
#define LOCAL_ADDRESS(pointer) ((u32)(u64)(pointer))
#endif
#ifdef TENSOR_CORES
#define COPY_CHUNK(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"((u64)(from)) : "memory")
#define END_COPIES() asm volatile("cp.async.commit_group;" : : : "memory")
#define AWAIT_COPIES() asm volatile("cp.async.wait_group ${stages - 2};" : : : "memory")
#define LOAD_MATRICES(a, b, c, d, from) asm volatile( \
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" \
    : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(from) : "memory")
#define ADD_PRODUCT(sums, a, b) asm volatile( \
    "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
    "{%0, %1, %2, %3};" : "+r"((sums)[0]), "+r"((sums)[1]), "+r"((sums)[2]), "+r"((sums)[3]) \
    : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"((b)[0]), "r"((b)[1]))
#else
#define LOCAL_ADDRESS(pointer) 0u
#define COPY_CHUNK(to, from)
#define END_COPIES()
#define AWAIT_COPIES()
#define LOAD_MATRICES(a, b, c, d, from) a = b = c = d = from
#define ADD_PRODUCT(sums, a, b)
#endif
<%! line_bytes, side_bytes = 64, 128 * 64 %>
<%def name="copy_stage(start, to)">
    if (${start} < words) {
% for part in range(2):
        COPY_CHUNK(${to} + place${part}, from_left${part} + ${start});
        COPY_CHUNK(${to} + ${side_bytes} + place${part}, from_right${part} + ${start});
% endfor
    }
    END_COPIES();
</%def>
% for mode in ("pairs", "rows"):

KERNEL LAUNCH_BOUNDS(256, 2) count_${mode}(${rows.row_arguments()}) {
    LOCAL_ARRAY(uint4, staged, ${stages * 2 * side_bytes // 16});
${rows.tile_of_group(mode, 128)}

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

    // A work-item copies two chunks of rows, and two of candidates.
    const u32 stage_address = LOCAL_ADDRESS(staged);
% for part in range(2):
    const i32 line${part} = (LOCAL_ID + ${256 * part}) / 4;
    const u32 place${part} = (u32)(line${part} * ${line_bytes} + (LOCAL_ID % 4 ^ (line${part} / 2 % 4)) * 16);
    const i32 row${part} = MIN(first_row + line${part}, total - 1);
    const GLOBAL u32* from_right${part} = planes + (i64)MIN(first_candidate + line${part}, n - 1) * words + LOCAL_ID % 4 * 4;
    const GLOBAL u32* from_left${part} =
% if mode == "pairs":
        planes + (i64)row${part} * words + LOCAL_ID % 4 * 4;
% else:
        masks + ((i64)active[1 + row${part} / per] * rows + base + row${part} % per) * words + LOCAL_ID % 4 * 4;
% endif
% endfor

    // Where a lane's line for ldmatrix begins in a stage, and which of its chunks hold the lower and upper 256 bits.
    const u32 left_line = (u32)((warp_row + lane % 16) * ${line_bytes});
    const u32 right_line = (u32)(${side_bytes} + (warp_candidate + lane / 16 * 8 + lane % 8) * ${line_bytes});
    const i32 turn = lane % 8 / 2;
% for chunk in range(2):
    const u32 left_chunk${chunk} = (u32)((${2 * chunk} + lane / 16) ^ turn) * 16;
    const u32 right_chunk${chunk} = (u32)((${2 * chunk} + lane / 8 % 2) ^ turn) * 16;
% endfor

% for stage in range(stages - 1):
${copy_stage(16 * stage, f"stage_address + {2 * side_bytes * stage}")}
% endfor
    u32 reading = stage_address;
    u32 writing = stage_address + ${2 * side_bytes * (stages - 1)};
    for (i32 start = 0; start < words; start += 16) {
        AWAIT_COPIES();
        BARRIER();
${copy_stage(f"start + {16 * (stages - 1)}", "writing")}
        writing = writing == stage_address + ${2 * side_bytes * (stages - 1)} ? stage_address : writing + ${2 * side_bytes};
% for chunk in range(2):
        {
            u32 a[4][4], b[4][2];
% for i in range(4):
            LOAD_MATRICES(a[${i}][0], a[${i}][1], a[${i}][2], a[${i}][3],
                reading + left_line + ${16 * i * line_bytes} + left_chunk${chunk});
% endfor
% for j in range(0, 4, 2):
            LOAD_MATRICES(b[${j}][0], b[${j}][1], b[${j + 1}][0], b[${j + 1}][1],
                reading + right_line + ${8 * j * line_bytes} + right_chunk${chunk});
% endfor
% for i in range(4):
% for j in range(4):
            ADD_PRODUCT(sums[${i}][${j}], a[${i}], b[${j}]);
% endfor
% endfor
        }
% endfor
        reading = reading == stage_address + ${2 * side_bytes * (stages - 1)} ? stage_address : reading + ${2 * side_bytes};
    }
    for (i32 i = 0; i < 4; ++i)
        for (i32 lower = 0; lower < 2; ++lower) {
            const i32 row = first_row + warp_row + 16 * i + 8 * lower + g;
            if (row >= total)
                continue;
${rows.target_of_row(mode)}
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
