<%def name="table(block)">
**${block.title}**${": " + block.note if block.note else ""}

| ${" | ".join(map(cell, block.columns))} |
|${"|".join("---:" if numeric else "---" for numeric in block.numeric)}|
% for row in block.rows:
| ${" | ".join(map(cell, row))} |
% endfor
</%def>\
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

| statement |${" where |" if report.located else ""} confirmed | seen |
|---|${"---|" if report.located else ""}---|---|
% for finding in report.findings:
| ${cell(finding.claim)} |${f" {cell(finding.where)} |" if report.located else ""} ${{True: "yes", False: "**no**", None: "not tested"}[finding.holds]} | ${cell(finding.seen)} |
% endfor
% endif
% for section in report.sections:

${"##"} ${section.title}
% for block in section.blocks:
% if block.kind == "text":

${block.text}
% elif block.kind == "table":
${table(block)}\
% elif block.kind == "figure" and block.drawn:

![${block.title}](${block.file})
% if block.caption:

*${block.caption}*
% endif
% endif
% endfor
% endfor
