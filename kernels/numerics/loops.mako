## What the blocked kernels share.
<%def name="unroll(language)">
## Before a loop whose arrays are to be registers.
% if language == "cuda":
#pragma unroll
% else:
#ifdef cl_nv_pragma_unroll
#pragma unroll
#endif
% endif
</%def>
