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
Profile *${report.profile}*; all measurements took ${f"{report.seconds:.0f}"} s.
% if report.findings:

| statement | confirmed | seen |
|---|---|---|
% for finding in report.findings:
| ${cell(finding.claim)} | ${{True: "yes", False: "**no**", None: "not tested"}[finding.holds]} | ${cell(finding.seen)} |
% endfor
% endif
% for section in report.sections:

${"##"} ${section.title}
% for block in section.blocks:
% if block.kind == "text":

${block.text}
% elif block.kind == "table":
${table(block)}\
% elif block.kind == "figure":

![${block.title}](${block.file})
% if block.caption:

*${block.caption}*
% endif
% endif
% endfor
% endfor
