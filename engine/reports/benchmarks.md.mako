<!-- Made by python -m engine.reports.benchmarks from docs/records: change the records or contents.toml there. -->
${"#"} Benchmarks

${introduction}
% for section, records in sections:

${"##"} ${section["title"]}
% if section.get("text"):

${section["text"]}
% endif
% for entry, report in records:

${"###"} ${entry["title"]}

    ${report.source}

${" ".join(machine(report.machine))}
% for part in report.sections:
% for block in part.blocks:
% if block.kind == "table":

**${block.title}**${": " + notes.get(block.title, block.note) if notes.get(block.title, block.note) else ""}

| ${" | ".join(map(cell, block.columns))} |
|${"|".join("---:" if numeric else "---" for numeric in block.numeric)}|
% for row in block.rows:
| ${" | ".join(map(cell, row))} |
% endfor
% if (entry["file"], block.title) in plots:
<% plot = plots[entry["file"], block.title] %>
![${plot.title}](${images}/${plot.file})
% endif
% elif block.kind == "text":

${block.text}
% endif
% endfor
% endfor
% endfor
% endfor
