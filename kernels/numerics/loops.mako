## What the blocked kernels share.
<%def name="unroll(language)">
## Before a loop whose arrays are to be registers. PoCL would take many times as long to compile, and gain nothing.
% if language == "cuda":
#pragma unroll
% else:
#ifdef POCL_DEVICE_ADDRESS_BITS
#pragma nounroll
#else
#pragma unroll
#endif
% endif
</%def>
