<%page args="title, introduction, sections"/>\
${"#"} ${title}

${introduction}
% for section, records in sections:
% if len(sections) > 1:

${"##"} ${section["title"]}
% endif
% if section.get("text"):

${section["text"].strip()}
% endif
% for entry, report in records:

${"###" if len(sections) > 1 else "##"} ${entry["title"]}

    ${report.source}

${" ".join(machine(report.machine))}
% if doubt(report.machine):

**To be measured again:** ${doubt(report.machine)}.
% endif
% for part in report.sections:
% for block in part.blocks:
% if block.kind == "table":

${block.markdown(notes.get(block.title, ""))}
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
