<%doc>
Groups of a kernel's arguments, for signatures that differ with the constants; each ends with a comma.

    arguments.of_pass(mode, family)      what a pass over the rows takes for what it computes
    arguments.of_likelihood(family)      target and record of a chain, and the rows' weights with the constant `weighted`
    arguments.of_weights(), of_omega(mode)   these weights; the latent scales of the kernel cg
    arguments.of_slab(prior)             of the prior `regularized`, whose slab has a random scale
    arguments.of_values(implicit)        the stored values of a sparse design, unless they are all 1
    arguments.of_counts(family)          the different values of a target of counts
    arguments.of_errors(linear)          the variances of the rows' errors, in linear regressions
    arguments.of_trial(linear)           where tau has moved since the prior variances were written, in linear regressions
</%doc>
<%def name="of_pass(mode, family)">
% if mode in ("draw", "augment"):
    u64 seed, u32 stream, const GLOBAL u32* RESTRICT iteration,
% endif
% if mode == "augment":
    u32 noise_stream,
% endif
% if mode == "margins":
    GLOBAL f32* RESTRICT margins, i64 pitch,
% endif
% if mode in ("score", "margins"):
    ${of_likelihood(family)}
% endif
</%def>
<%def name="of_likelihood(family)">
% if family not in ("probit", "logit"):
    const GLOBAL f32* RESTRICT target, const GLOBAL shape_t* RESTRICT shape,
% endif
    ${of_weights()}
</%def>
<%def name="of_weights()">
% if context.get("weighted", False):
    const GLOBAL f32* RESTRICT row_weight,
% endif
</%def>
<%def name="of_omega(mode)">
% if mode in ("augment", "product"):
    GLOBAL f64* RESTRICT omega,
% endif
</%def>
<%def name="of_slab(prior)">
% if prior == "regularized":
    f64 slab_degrees, f64 slab_scale,
% endif
</%def>
<%def name="of_values(implicit)">
% if not implicit:
    const GLOBAL f32* RESTRICT values,
% endif
</%def>
<%def name="of_counts(family)">
% if family == "counts":
    const GLOBAL auxiliary_t* RESTRICT candidates, const GLOBAL f64* RESTRICT values, const GLOBAL f64* RESTRICT repeats,
    i32 distinct,
% endif
</%def>
<%def name="of_errors(linear)">
% if linear:
    const GLOBAL f64* RESTRICT spread, const GLOBAL auxiliary_t* RESTRICT auxiliary,
% endif
</%def>
<%def name="of_trial(linear)">
% if linear:
    GLOBAL f64* RESTRICT variance, const GLOBAL trial_t* RESTRICT trial, i32 stride, i32 first,
% endif
</%def>
