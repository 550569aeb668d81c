// wide[i][j] = s x_ij sqrt(weight[weight_row + i]): rows of a sparse design (see sparse.mako) as f64 for X'WX
//
// Launch: any number of groups of ${block}, each a row at a time. weight may be any buffer if not weighted.

KERNEL LAUNCH_BOUNDS(${block}, 1) expand_rows(const GLOBAL ${start}* RESTRICT row_start,
    const GLOBAL ${index}* RESTRICT columns,
    ${arguments.of_values(implicit)}
    const GLOBAL f64* RESTRICT factor,
    const GLOBAL f64* RESTRICT centre, const GLOBAL f32* RESTRICT weight, GLOBAL f64* RESTRICT wide, i64 row, i64 global_row,
    i64 row_count, i32 rows, i32 q, i32 first, i32 weighted) {
    for (i32 i = GROUP_ID; i < rows; i += GROUP_COUNT) {
        const i32 used = global_row + i < row_count;
        const f64 size = !used ? 0.0 : (weighted ? sqrt((f64)weight[row + i]) : 1.0);
        GLOBAL f64* out = wide + (i64)i * q;
        for (i32 j = LOCAL_ID; j < q; j += ${block})
            out[j] = j < first ? size : -size * centre[j];
        BARRIER();
        for (i64 k = (i64)row_start[row + i] + LOCAL_ID; k < (i64)row_start[row + i + 1]; k += ${block}) {
            const i32 j = (i32)columns[k];
            out[j] = size * (factor[j]${"" if implicit else " * (f64)values[k]"} - centre[j]);
        }
        BARRIER();
    }
}
