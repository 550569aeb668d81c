// The two triangles of row-major square matrices, one after another in a batch.
//
// mirror copies the strictly lower triangle over the upper one (A[j][i] = A[i][j], i > j), or the upper over the lower one.
// Launch: a group of 256 for each lower tile of 32 x 32, `tiles` a matrix, rows of tiles first.
//
// check_diagonal sets a status that is 0 to the first place, from 1, where the diagonal is NaN. Launch: a group of 256 a matrix.

KERNEL LAUNCH_BOUNDS(256, 1) mirror(GLOBAL f64* A, i64 n, i64 tiles, i32 upper_to_lower) {
    LOCAL_ARRAY(f64, tile, 32 * 33);
    const i64 t = GROUP_ID % tiles;
    GLOBAL f64* a = A + GROUP_ID / tiles * n * n;
    i64 ti = (i64)((sqrt(8.0 * (f64)t + 1.0) - 1.0) * 0.5);
    while (ti * (ti + 1) / 2 > t)
        --ti;
    while ((ti + 1) * (ti + 2) / 2 <= t)
        ++ti;
    const i64 tj = t - ti * (ti + 1) / 2;
    const i64 row = (upper_to_lower ? tj : ti) * 32;
    const i64 column = (upper_to_lower ? ti : tj) * 32;
    const i32 x = LOCAL_ID % 32;
    for (i32 y = LOCAL_ID / 32; y < 32; y += 8)
        if (row + y < n && column + x < n)
            tile[y * 33 + x] = a[(row + y) * n + column + x];
    BARRIER();
    for (i32 y = LOCAL_ID / 32; y < 32; y += 8) {
        const i64 i = column + y;
        const i64 j = row + x;
        if (i < n && j < n && (upper_to_lower ? i > j : i < j))
            a[i * n + j] = tile[x * 33 + y];
    }
}

KERNEL LAUNCH_BOUNDS(256, 1) check_diagonal(const GLOBAL f64* A, i64 n, GLOBAL i32* status) {
    LOCAL_ARRAY(i32, least, 256);
    const GLOBAL f64* a = A + GROUP_ID * n * n;
    i32 mine = 0x7fffffff;
    for (i64 i = n - 1 - LOCAL_ID; i >= 0; i -= 256) {
        const f64 v = a[i * n + i];
        if (v != v)
            mine = (i32)i + 1;
    }
    least[LOCAL_ID] = mine;
    BARRIER();
    if (LOCAL_ID == 0) {
        for (i32 k = 1; k < 256; ++k)
            mine = MIN(mine, least[k]);
        if (status[GROUP_ID] == 0 && mine != 0x7fffffff)
            status[GROUP_ID] = mine;
    }
}
