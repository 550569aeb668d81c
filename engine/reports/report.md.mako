${"#"} ${report.title}

${report.source}

% for line in lines:
${line}
% endfor
% if report.command:
`${report.command}` makes this report.
% endif
Profile *${report.profile}*; all measurements took ${f"{report.seconds:.0f}"} s.
% if busy:

**The machine was busy (a load above 1 for each core): the times are no record.**
% endif
% if report.findings:

| statement | where | confirmed | seen |
|---|---|---|---|
% for finding in report.findings:
| ${cell(finding.claim)} | ${cell(finding.where)} | ${{True: "yes", False: "**no**", None: "not tested"}[finding.holds]} | ${cell(finding.seen)} |
% endfor
% endif
% for section in report.sections:

${"##"} ${section.title}
% for block in section.blocks:
% if block.kind == "text":

${block.text}
% elif block.kind == "table":

${block.markdown()}
% elif block.kind == "figure" and block.drawn:

![${block.title}](${block.file})
% if block.caption:

*${block.caption}*
% endif
% endif
% endfor
% endfor
