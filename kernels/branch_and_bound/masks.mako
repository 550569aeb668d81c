<%def name="declarations()">
// A set of items is one word; item i is bit i.
typedef ${mask} mask_t;
#define ITEMS ${items}
#define LEAF_DEPTH ${leaf_depth}
#define ALL_ITEMS ((mask_t)${(1 << items) - 1}${"UL" if mask == "u64" else "U"})
#define ONE ((mask_t)1)
#define LOWEST(set) ((set) & (~(set) + ONE))
% if language == "cuda":
% if mask == "u64":
#define INDEX_OF_LOWEST(set) (__ffsll((long long)(set)) - 1)
#define COUNT(set) __popcll(set)
% else:
#define INDEX_OF_LOWEST(set) (__ffs((int)(set)) - 1)
#define COUNT(set) __popc(set)
% endif
% else:
// The compiler's own, where it has them: PoCL calls clz() and popcount() instead of inlining them.
#ifndef __has_builtin
#define __has_builtin(name) 0
#endif
#if __has_builtin(__builtin_ctzl) && __has_builtin(__builtin_popcountl)
% if mask == "u64":
#define INDEX_OF_LOWEST(set) ((i32)__builtin_ctzl(set))
#define COUNT(set) ((i32)__builtin_popcountl(set))
% else:
#define INDEX_OF_LOWEST(set) ((i32)__builtin_ctz(set))
#define COUNT(set) ((i32)__builtin_popcount(set))
% endif
#else
#define INDEX_OF_LOWEST(set) (${63 if mask == "u64" else 31} - (i32)clz(LOWEST(set)))
#define COUNT(set) ((i32)popcount(set))
#endif
% endif

// Four words that are read and written together.
typedef uint4 quad_t;
typedef ${"LOCAL " if block > 1 else ""}quad_t* quads_t;
#define QUAD(a, b, c, d) ${"make_uint4(a, b, c, d)" if language == "cuda" else "(uint4)(a, b, c, d)"}

// Words of the control buffer.
#define ACTIVE 0
#define LEAST_ACTIVE 1
#define STEPS 2
#define THIEVES 3
#define STOLEN 4
#define BY_LEVEL 8
</%def>

<%def name="problem_functions()">
% if source:
${source}
% else:
<%include file="/${problem}.mako"/>
% endif
</%def>
