// wide[i][j] = design[row + i][j] sqrt(weight[row + i]): rows as f64 for X'WX, from the stored, rounded values
//
// Launch: any number of groups of ${block}, each a row at a time. weight may be any buffer if not weighted.
${stored_values.declarations(storage)}

<% stored = "f32" if storage == "f32" else "u16" %>
KERNEL LAUNCH_BOUNDS(${block}, 1) expand_rows(const GLOBAL ${stored}* RESTRICT design, const GLOBAL f32* RESTRICT weight,
    GLOBAL f64* RESTRICT wide, i64 row, i64 weight_row, i32 rows, i32 stride, i32 q, i32 weighted) {
    for (i32 i = GROUP_ID; i < rows; i += GROUP_COUNT) {
        const f64 factor = weighted ? sqrt((f64)weight[weight_row + i]) : 1.0;
        for (i32 j = LOCAL_ID; j < q; j += ${block}) {
% if storage == "f32":
            const f32 value = design[(row + i) * stride + j];
% else:
            const f32 value = VALUE_OF_BITS((u32)design[(row + i) * stride + j]);
% endif
            wide[(i64)i * q + j] = factor * (f64)value;
        }
    }
}
