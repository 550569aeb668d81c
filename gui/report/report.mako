<%!
    from gui.plot.tables import cell_text
%>\
<%def name="facts(title, rows)">\
% if rows:
<table>
<tr><th colspan="2">${title}</th></tr>
% for name, value in rows:
<tr><td>${name}</td><td>${value}</td></tr>
% endfor
</table>
% endif
</%def>\
<%def name="cell(value)">\
% if isinstance(value, str):
<td>${value}</td>\
% else:
<td class="number">${cell_text(value)}</td>\
% endif
</%def>\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
body { font: 15px/1.45 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; margin: 0; color: #1a1e24; background: #eef0f3; }
main { max-width: 1180px; margin: 0 auto; padding: 28px 24px 40px; }
h1 { font-size: 24px; margin: 0 0 2px; }
h2 { font-size: 17px; margin: 30px 0 10px; }
p.about { color: #5a636e; margin: 0 0 18px; }
p.warning { background: #fdf3dc; border: 1px solid #d9b25f; border-radius: 6px; padding: 8px 14px; }
.tiles { display: flex; flex-wrap: wrap; gap: 10px; }
.tile { background: #fff; border: 1px solid #d3d8de; border-radius: 6px; padding: 8px 14px; }
.tile b { display: block; font-size: 18px; }
.tile span { color: #5a636e; font-size: 12px; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(520px, 1fr)); gap: 12px; }
figure { background: #fff; border: 1px solid #d3d8de; border-radius: 6px; margin: 0; padding: 6px; }
figure img { width: 100%; display: block; }
figcaption { color: #5a636e; font-size: 12px; padding: 4px 8px; }
table { border-collapse: collapse; background: #fff; border: 1px solid #d3d8de; font-size: 13px; }
th, td { padding: 3px 12px; border-bottom: 1px solid #e4e7eb; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
th { color: #5a636e; font-weight: 600; }
.columns { display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start; }
footer { color: #5a636e; font-size: 12px; margin-top: 30px; }
@media print { body { background: #fff; } figure { break-inside: avoid; } }
</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p class="about">${about}</p>
% for warning in warnings:
<p class="warning">${warning}</p>
% endfor
<div class="tiles">
% for name, value in tiles:
<div class="tile"><b>${value}</b><span>${name}</span></div>
% endfor
</div>
<h2>Plots</h2>
<div class="plots">
% for picture in pictures:
<figure><img alt="${picture.title}" src="data:image/svg+xml;base64,${picture.svg}"><figcaption>${picture.caption}</figcaption></figure>
% endfor
</div>
<h2>Settings</h2>
<div class="columns">
${facts("Run", run)}
${facts("Options", options)}
</div>
% for table in tables:
<h2>${table.title}</h2>
<table>
<tr>\
% for name in table.headers:
<th>${name}</th>\
% endfor
</tr>
% for row in table.rows:
<tr>\
% for value in row:
${cell(value)}\
% endfor
</tr>
% endfor
</table>
% endfor
<footer>Quintet ${version}</footer>
</main>
</body>
</html>
