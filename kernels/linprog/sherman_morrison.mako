// Inverse of A D A^T by updates of (A A^T)^-1, after Egidi and Maponi, in blocks of k columns (k = 1 is the paper's own).
//
// With v_l = (d_l - 1) a_l and y_l = (A A^T)^-1 a_l at first, for each block L:
//   S = I + V_L^T Y_L        Y <- Y - Y_L S^-1 V_L^T Y    (columns still to come)        x <- x - Y_L S^-1 V_L^T x
// Columns are stored as rows of m values (transposed), so that work-items side by side read side by side; those still to come
// are the rows before the block.

// W[r] = rows[order[r]] scale[r], or without scale. Launch: a group of ${block} a row.
KERNEL LAUNCH_BOUNDS(${block}, 1) gather_rows(i64 m, const GLOBAL f64* rows, const GLOBAL i32* order, const GLOBAL f64* scale,
    i32 scaled, GLOBAL f64* W) {
    const GLOBAL f64* from = rows + order[GROUP_ID] * m;
    GLOBAL f64* to = W + GROUP_ID * m;
    const f64 factor = scaled ? scale[GROUP_ID] : 1.0;
    for (i64 i = LOCAL_ID; i < m; i += ${block})
        to[i] = from[i] * factor;
}

// Blocks of one: W[r] -= (v . W[r]) / (1 + v . W[l]) W[l] for all r < l, with v = V[l]; and 1 / (1 + v . W[l]) into
// inverses[l]. Launch: a group of ${block} for each ${rows} rows r, which keeps them in registers between its two passes.
KERNEL LAUNCH_BOUNDS(${block}, 1) update_rows(i64 m, i64 l, const GLOBAL f64* V, GLOBAL f64* W, GLOBAL f64* inverses) {
    const GLOBAL f64* v = V + l * m;
    const GLOBAL f64* w = W + l * m;
    const i64 first = (i64)GROUP_ID * ${rows};
% if block == 1:
    f64 b = 0.0;
    for (i64 i = 0; i < m; ++i)
        b += v[i] * w[i];
    b = 1.0 / (1.0 + b);
    if (GROUP_ID == 0)
        inverses[l] = b;
    for (i64 r = first; r < MIN(first + ${rows}, l); ++r) {
        GLOBAL f64* mine = W + r * m;
        f64 a = 0.0;
        for (i64 i = 0; i < m; ++i)
            a += v[i] * mine[i];
        const f64 factor = a * b;
        for (i64 i = 0; i < m; ++i)
            mine[i] -= factor * w[i];
    }
% else:
    LOCAL_ARRAY(f64, part, ${block * (rows + 1)});
    f64 own[${rows}][${items}];
    f64 b = 0.0;
% for r in range(rows):
    f64 a${r} = 0.0;
    const i32 in${r} = first + ${r} < l;
    GLOBAL f64* mine${r} = W + (in${r} ? first + ${r} : 0) * m;
% endfor
% for k in range(items):
    if (LOCAL_ID + ${k * block} < m) {
        const f64 factor = v[LOCAL_ID + ${k * block}];
        b += factor * w[LOCAL_ID + ${k * block}];
% for r in range(rows):
        own[${r}][${k}] = mine${r}[LOCAL_ID + ${k * block}];
        a${r} += factor * own[${r}][${k}];
% endfor
    }
% endfor
    for (i64 i = LOCAL_ID + ${items * block}; i < m; i += ${block}) {
        b += v[i] * w[i];
% for r in range(rows):
        a${r} += v[i] * mine${r}[i];
% endfor
    }
    ${reduce.group_reduce("part", "f64", block, [("b", "sum"), *((f"a{r}", "sum") for r in range(rows))])}
    b = 1.0 / (1.0 + b);
    if (GROUP_ID == 0 && LOCAL_ID == 0)
        inverses[l] = b;
% for r in range(rows):
    a${r} *= b;
% endfor
% for k in range(items):
    if (LOCAL_ID + ${k * block} < m) {
        const f64 other = w[LOCAL_ID + ${k * block}];
% for r in range(rows):
        if (in${r})
            mine${r}[LOCAL_ID + ${k * block}] = own[${r}][${k}] - a${r} * other;
% endfor
    }
% endfor
    for (i64 i = LOCAL_ID + ${items * block}; i < m; i += ${block}) {
% for r in range(rows):
        if (in${r})
            mine${r}[i] -= a${r} * w[i];
% endfor
    }
% endif
}

// S <- (I + S)^-1 by Gauss-Jordan steps in order: the pivots are those of the updates one by one. Launch: one group.
KERNEL LAUNCH_BOUNDS(${block}, 1) invert_block(i32 k, const GLOBAL f64* S, i64 at, GLOBAL f64* inverses) {
    GLOBAL f64* inverse = inverses + at;
    for (i32 e = LOCAL_ID; e < k * k; e += ${block})
        inverse[e] = S[e] + (e / k == e % k ? 1.0 : 0.0);
    BARRIER();
    for (i32 p = 0; p < k; ++p) {
        const f64 pivot = 1.0 / inverse[p * k + p];
        BARRIER();
        for (i32 e = LOCAL_ID; e < k * k; e += ${block}) {
            const i32 i = e / k;
            const i32 j = e % k;
            if (i != p && j != p)
                inverse[e] -= inverse[i * k + p] * pivot * inverse[p * k + j];
        }
        BARRIER();
        for (i32 e = LOCAL_ID; e < k; e += ${block})
            if (e != p) {
                inverse[e * k + p] *= -pivot;
                inverse[p * k + e] *= pivot;
            }
        if (LOCAL_ID == 0)
            inverse[p * k + p] = pivot;
        BARRIER();
    }
}

// t[j] = V[first + j] . x. Launch: a group of ${block} for each of the k rows.
KERNEL LAUNCH_BOUNDS(${block}, 1) block_products(i64 m, i64 first, const GLOBAL f64* V, const GLOBAL f64* x, GLOBAL f64* t) {
    LOCAL_ARRAY(f64, part, ${block});
    const GLOBAL f64* v = V + (first + GROUP_ID) * m;
    f64 sum = 0.0;
    for (i64 i = LOCAL_ID; i < m; i += ${block})
        sum += v[i] * x[i];
    ${reduce.block_sums("part", "f64", block, ["sum"])}
    if (LOCAL_ID == 0)
        t[GROUP_ID] = part[0];
}

// x -= W_L (inverse t). Launch: groups of ${block} over m.
KERNEL LAUNCH_BOUNDS(${block}, 1) take_block(i64 m, i64 first, i32 k, const GLOBAL f64* W, i64 at, const GLOBAL f64* inverses,
    const GLOBAL f64* t, GLOBAL f64* x) {
    const GLOBAL f64* inverse = inverses + at;
    LOCAL_ARRAY(f64, u, 256);
    for (i32 j = LOCAL_ID; j < k; j += ${block}) {
        f64 sum = 0.0;
        for (i32 e = 0; e < k; ++e)
            sum += inverse[j * k + e] * t[e];
        u[j] = sum;
    }
    BARRIER();
    for (i64 i = GLOBAL_ID; i < m; i += GLOBAL_SIZE) {
        f64 sum = 0.0;
        for (i32 j = 0; j < k; ++j)
            sum += W[(first + j) * m + i] * u[j];
        x[i] -= sum;
    }
}
