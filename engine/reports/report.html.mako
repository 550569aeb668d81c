<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${report.title}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; color: #1b2430; background: #fff; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; }
th, td { border-bottom: 1px solid #d5dbe3; padding: 0.25rem 0.75rem; text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: 0.25rem; }
.machine, figcaption, .note { color: #55606e; }
.no { color: #b3261e; font-weight: 600; }
figure { margin: 1rem 0; } img { max-width: 100%; }
</style>
</head>
<body>
<h1>${report.title}</h1>
<p>${report.source}</p>
<p class="machine">${" ".join(lines)}\
 <code>${report.command}</code> makes this report.\
 Profile ${report.profile}; all measurements took ${f"{report.seconds:.0f}"} s.</p>
% if busy:
<p class="no">The machine was busy (a load above 1 for each core): the times are no record.</p>
% endif
% if report.findings:
<table>
<tr><th>statement</th><th>where</th><th>confirmed</th><th>seen</th></tr>
% for finding in report.findings:
<tr><td>${finding.claim}</td><td>${finding.where}</td>\
<td class="${"no" if finding.holds is False else ""}">${{True: "yes", False: "no", None: "not tested"}[finding.holds]}</td><td>${finding.seen}</td></tr>
% endfor
</table>
% endif
% for section in report.sections:
<h2>${section.title}</h2>
% for block in section.blocks:
% if block.kind == "text":
<p>${block.text}</p>
% elif block.kind == "table":
<table>
<caption><strong>${block.title}</strong> <span class="note">${block.note}</span></caption>
<tr>\
% for name, numeric in zip(block.columns, block.numeric):
<th class="${"number" if numeric else ""}">${name}</th>\
% endfor
</tr>
% for row in block.rows:
<tr>\
% for text, numeric in zip(row, block.numeric):
<td class="${"number" if numeric else ""}">${text}</td>\
% endfor
</tr>
% endfor
</table>
% elif block.kind == "figure" and block.drawn:
<figure><img src="${block.file}" alt="${block.title}"><figcaption>${block.caption}</figcaption></figure>
% endif
% endfor
% endfor
</body>
</html>
