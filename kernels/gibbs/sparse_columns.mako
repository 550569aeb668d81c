<%
    serial = block == 1
    sum_type = "f64" if serial or vector == "f64" else "f32"
%>
// The second half of a pass over a sparse design (see sparse.mako) for ${chains} vectors: X'w of the weights w of the rows. The
// entries are stored once more column by column within a shard of rows, and a column in segments of bounded length, so that no
// two work-items add to one number: what is added to what depends on the data alone.
//
// segment_start: (segments + 1,) entries; segment_row: first row of the segment's shard, to which `rows_of` counts; column_segment:
// (shards, columns + 1) first segment of every column; strip_bounds: (shards + 1,) first strip of every shard. weighted,
// strip_sums: see sparse_rows.mako. partial: (segments, ${chains}) from beta_first segments on; shards_out: (shards, betas,
// width) from first_shard on.
<%def name="each_segment()">
    for (i64 first = (i64)GROUP_ID * ${block // lanes}; first < segments; first += (i64)GROUP_COUNT * ${block // lanes}) {
        const i64 segment = first + LOCAL_ID / ${lanes};
        const i32 inside = segment < segments;
        const i64 begin = inside ? (i64)segment_start[segment] : 0;
        const i64 end = inside ? (i64)segment_start[segment + 1] : 0;
        const i64 base = inside ? (i64)segment_row[segment] : 0;
</%def>
<%def name="sum_of_weights(parts, places)">
    // A shard and a tile of the width's numbers; `part`: what the strips of the shard have in these places, added up
    const i32 tiles = (width + tile - 1) / tile;
    const i32 shard = GROUP_ID / tiles;
    const i32 begin = GROUP_ID % tiles * tile;
    const GLOBAL f64* sums = strip_sums + 2 * (i64)beta_first * strips;
    const GLOBAL f64* from = partial + ${"2 * " if parts == 2 else ""}(i64)beta_first * segments;
    const GLOBAL i32* place = column_segment + (i64)shard * (q - first + 1);
    GLOBAL f64* out = shards_out + ((i64)(first_shard + shard) * betas + beta_first) * width;
    f64 ${", ".join(f"m{c} = 0.0" for c in range(len(places)))};
    for (i32 strip = strip_bounds[shard] + LOCAL_ID; strip < strip_bounds[shard + 1]; strip += ${block}) {
% for c, place in enumerate(places):
        m${c} += sums[(i64)strip * ${2 * chains} + ${place}];
% endfor
    }
    ${reduce.block_sums("part", "f64", block, [f"m{c}" for c in range(len(places))])}
</%def>

// out[i] of the parts of sum_j factor_j beta_j and of the offset: coefficients (q, ${chains}), offsets (tiles, betas).
// Launch: a group of ${block} a tile of `tile` columns.
KERNEL LAUNCH_BOUNDS(${block}, 1) spread_coefficients(const GLOBAL ${vector}* RESTRICT beta, i64 stride,
    const GLOBAL f64* RESTRICT factor, const GLOBAL f64* RESTRICT centre, GLOBAL ${vector}* RESTRICT coefficients,
    GLOBAL f64* RESTRICT offsets, i32 q, i32 tile, i32 beta_first, i32 betas) {
    LOCAL_ARRAY(f64, part, ${block * chains});
    const i32 begin = GROUP_ID * tile;
    const i32 end = MIN(begin + tile, q);
    GLOBAL ${vector}* out = coefficients + (i64)beta_first * q;
    f64 ${", ".join(f"m{c} = 0.0" for c in range(chains))};
    for (i32 j = begin + LOCAL_ID; j < end; j += ${block}) {
        const f64 f = factor[j];
        const f64 m = centre[j];
% for c in range(chains):
        const f64 b${c} = (f64)beta[(beta_first + ${c}) * stride + j];
        out[(i64)j * ${chains} + ${c}] = (${vector})(f * b${c});
        m${c} -= m * b${c};
% endfor
    }
    ${reduce.block_sums("part", "f64", block, [f"m{c}" for c in range(chains)])}
    if (LOCAL_ID == 0) {
% for c in range(chains):
        offsets[GROUP_ID * betas + beta_first + ${c}] = part[${c * block}];
% endfor
    }
}

// partial = sums of the segments. Launch: any number of groups of ${block}, ${lanes} lanes a segment.
KERNEL LAUNCH_BOUNDS(${block}, 1) add_segments(const GLOBAL ${start}* RESTRICT segment_start,
    const GLOBAL i32* RESTRICT segment_row, const GLOBAL ${index}* RESTRICT rows_of,
    ${arguments.of_values(implicit)}
    const GLOBAL ${vector}* RESTRICT weighted,
    GLOBAL f64* RESTRICT partial, i64 rows, i32 segments, i32 beta_first) {
% if lanes > 1 and not shuffle:
    LOCAL_ARRAY(${sum_type}, lanes_, ${block * chains});
% endif
    const i32 lane = LOCAL_ID % ${lanes};
    const GLOBAL ${vector}* from = weighted + beta_first * rows;
    GLOBAL f64* out = partial + (i64)beta_first * segments;
${each_segment()}
        ${sum_type} ${", ".join(f"a{c} = 0" for c in range(chains))};
${sparse.add_entries("begin", "end", "rows_of", "base", "from", chains, vector, sum_type, lanes, "lane", implicit)}
${sparse.add_lanes(lanes, block, chains, sum_type, shuffle)}
        if (inside && lane == 0) {
% for c in range(chains):
            out[segment * ${chains} + ${c}] = (f64)a${c};
% endfor
        }
    }
}

% if vector == "f64":
// The two parts, sum w v and sum w v^2, of sum_i w_i x_ij^2 in every segment: partial (segments, 2, ${chains}) from 2
// beta_first segments on. Launch: as add_segments.
KERNEL LAUNCH_BOUNDS(${block}, 1) add_segment_squares(const GLOBAL ${start}* RESTRICT segment_start,
    const GLOBAL i32* RESTRICT segment_row, const GLOBAL ${index}* RESTRICT rows_of,
    ${arguments.of_values(implicit)}
    const GLOBAL f64* RESTRICT weighted,
    GLOBAL f64* RESTRICT partial, i64 rows, i32 segments, i32 beta_first) {
% if lanes > 1 and not shuffle:
    LOCAL_ARRAY(f64, lanes_, ${block * chains});
% endif
    const i32 lane = LOCAL_ID % ${lanes};
    const GLOBAL f64* from = weighted + beta_first * rows;
    GLOBAL f64* out = partial + 2 * (i64)beta_first * segments;
${each_segment()}
% for power in (1,) if implicit else (1, 2):
        {
            f64 ${", ".join(f"a{c} = 0" for c in range(chains))};
${sparse.add_entries("begin", "end", "rows_of", "base", "from", chains, vector, "f64", lanes, "lane", implicit, power)}
${sparse.add_lanes(lanes, block, chains, "f64", shuffle)}
            if (inside && lane == 0) {
%   for c in range(chains):
                out[segment * ${2 * chains} + ${(power - 1) * chains + c}] = a${c};
%     if implicit:
                out[segment * ${2 * chains} + ${chains + c}] = a${c};
%     endif
%   endfor
            }
        }
% endfor
    }
}

// shards_out = sum_i w_i x_ij^2 of the rows of a shard; 0 behind the columns. strip_sums has the sum of w as what else is added up.
// Launch: as finish_columns.
KERNEL LAUNCH_BOUNDS(${block}, 1) finish_squares(const GLOBAL f64* RESTRICT partial, const GLOBAL i32* RESTRICT column_segment,
    const GLOBAL f64* RESTRICT strip_sums, const GLOBAL i32* RESTRICT strip_bounds, const GLOBAL f64* RESTRICT factor,
    const GLOBAL f64* RESTRICT centre, GLOBAL f64* RESTRICT shards_out, i32 segments, i32 strips, i32 q, i32 first, i32 width,
    i32 tile, i32 first_shard, i32 beta_first, i32 betas) {
    LOCAL_ARRAY(f64, part, ${block * chains});
${sum_of_weights(2, range(chains, 2 * chains))}
    for (i32 j = begin + LOCAL_ID; j < MIN(begin + tile, width); j += ${block}) {
        if (j >= first && j < q) {
            f64 ${", ".join(f"a{c} = 0.0, s{c} = 0.0" for c in range(chains))};
            for (i32 s = place[j - first]; s < place[j - first + 1]; ++s) {
% for c in range(chains):
                a${c} += from[(i64)s * ${2 * chains} + ${c}];
                s${c} += from[(i64)s * ${2 * chains} + ${chains + c}];
% endfor
            }
            const f64 f = factor[j];
            const f64 m = centre[j];
% for c in range(chains):
            out[(i64)${c} * width + j] = MAX(f * f * s${c} - 2.0 * f * m * a${c} + m * m * part[${c * block}], 0.0);
% endfor
        } else {
% for c in range(chains):
            out[(i64)${c} * width + j] = j < first ? part[${c * block}] : 0.0;
% endfor
        }
    }
}
% endif

// shards_out = factor_j sum of column j's segments - centre_j sum of w, the sum of w for the intercept, and behind the columns
// the other sum. Launch: a group of ${block} for every shard and tile of `tile` of the width's numbers.
KERNEL LAUNCH_BOUNDS(${block}, 1) finish_columns(const GLOBAL f64* RESTRICT partial, const GLOBAL i32* RESTRICT column_segment,
    const GLOBAL f64* RESTRICT strip_sums, const GLOBAL i32* RESTRICT strip_bounds, const GLOBAL f64* RESTRICT factor,
    const GLOBAL f64* RESTRICT centre, GLOBAL f64* RESTRICT shards_out, i32 segments, i32 strips, i32 q, i32 first, i32 width,
    i32 total, i32 tile, i32 first_shard, i32 beta_first, i32 betas) {
    LOCAL_ARRAY(f64, part, ${2 * block * chains});
${sum_of_weights(1, range(2 * chains))}
    for (i32 j = begin + LOCAL_ID; j < MIN(begin + tile, width); j += ${block}) {
        if (j >= first && j < q) {
            f64 ${", ".join(f"a{c} = 0.0" for c in range(chains))};
            for (i32 s = place[j - first]; s < place[j - first + 1]; ++s) {
% for c in range(chains):
                a${c} += from[(i64)s * ${chains} + ${c}];
% endfor
            }
% for c in range(chains):
            out[(i64)${c} * width + j] = factor[j] * a${c} - centre[j] * part[${c * block}];
% endfor
        } else {
% for c in range(chains):
            out[(i64)${c} * width + j] = j < first ? part[${c * block}] : (j == total ? part[${(chains + c) * block}] : 0.0);
% endfor
        }
    }
}
