## The ways in which explore.mako restores the state of an earlier node: from a stack of all levels in a work-item's own memory
## (stack), from device memory, where the states of nodes with several open children are saved (saved), by placing the path's
## items again (rebuild), or by removing items one by one (retract).

<%def name="state_as_words(fields, cast='(i32)')">
// The state as words, and from them again.
FUNCTION void save(const state_t* state, u32* words) {
% for place, field in fields:
    words[${place}] = (u32)state->${field};
% endfor
}

FUNCTION void restore(state_t* state, const u32* words) {
% for place, field in fields:
    state->${field} = ${cast}words[${place}];
% endfor
}
</%def>

<%def name="declarations()">
% if backtrack == "saved":
// workspace   of every level and IVM, ${saved_quads} entries of four words: the state of its node and the set of its items; valid
//           where the node has more open children than the one on the path; a level's entries are workspace_stride IVMs apart
#define STATE const GLOBAL i32* RESTRICT data, GLOBAL i32* RESTRICT workspace, i32 workspace_stride
#define SAVED(level) (saved + ((i64)(level) * workspace_stride + ivm) * ${saved_quads})
FUNCTION void save_node(const state_t* state, mask_t used, GLOBAL quad_t* to) {
    u32 words[${4 * saved_quads}];
    save(state, words);
% for k in range(mask_words):
    words[${4 * saved_quads - mask_words + k}] = WORD(used, ${k});
% endfor
% for k in range(saved_quads):
    to[${k}] = QUAD(words[${4 * k}], words[${4 * k + 1}], words[${4 * k + 2}], words[${4 * k + 3}]);
% endfor
}

FUNCTION mask_t restore_node(state_t* state, const GLOBAL quad_t* from) {
    u32 words[${4 * saved_quads}];
% for k in range(saved_quads):
    {
        const quad_t quad = from[${k}];
        words[${4 * k}] = quad.x;
        words[${4 * k + 1}] = quad.y;
        words[${4 * k + 2}] = quad.z;
        words[${4 * k + 3}] = quad.w;
    }
% endfor
    restore(state, words);
    mask_t used = NO_ITEMS;
% for k in range(mask_words):
    used |= OF_WORD(words[${4 * saved_quads - mask_words + k}], ${k});
% endfor
    return used;
}
% else:
#define STATE const GLOBAL i32* RESTRICT data
% endif
// The state of the node at `depth`, and that of the child which is placed next.
% if backtrack == "stack":
#define NODE stack[depth]
#define CHILD stack[depth + 1]
% else:
#define NODE state
#define CHILD state
% endif
</%def>

<%def name="states()">
% if backtrack == "stack":
    state_t stack[${leaf_depth + 1}];
% else:
    state_t state;
% endif
% if backtrack == "saved":
    GLOBAL quad_t* const saved = (GLOBAL quad_t*)workspace;
    mask_t forks = NO_ITEMS; // the levels with an open sibling
% endif
</%def>

<%def name="leave_fork(row)">
% if backtrack == "saved":
            if (ANY(WITHOUT_LOWEST(${row}))) {
                forks |= ITEM(depth);
                save_node(&state, used, SAVED(depth));
            }
% endif
</%def>

<%def name="place_child(item, before)">
% if backtrack == "stack":
            stack[depth + 1] = stack[depth];
% endif
            place(&CHILD, depth, ${item}, ${before}, (i32)HAS(path_sides, depth), table);
</%def>

<%def name="climb()">
% if backtrack == "saved":
            if (ANY(forks)) {
                depth = INDEX_OF_HIGHEST(forks);
                row = WITHOUT_LOWEST(ROW(depth));
                used = restore_node(&state, SAVED(depth));
                if (!ANY(WITHOUT_LOWEST(row)))
                    forks ^= ITEM(depth);
            }
% else:
            while (depth > 0 && !ANY(row)) {
                --depth;
                row = ROW(depth);
                const mask_t chosen = LOWEST(row);
                used ^= chosen;
                row ^= chosen;
% if backtrack == "retract":
                retract(&state, depth, INDEX_OF_LOWEST(chosen), PARENT_ITEM, (i32)HAS(path_sides, depth), table);
% endif
            }
% if backtrack == "rebuild":
            if (ANY(row)) {
                init(&state, table);
                i32 before = -1;
                for (i32 level = 0; level < depth; ++level) {
                    const i32 item = INDEX_OF_LOWEST(ROW(level));
                    place(&state, level, item, before, (i32)HAS(path_sides, level), table);
                    before = item;
                }
            }
% endif
% endif
</%def>
