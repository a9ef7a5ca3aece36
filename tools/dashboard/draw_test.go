//go:build unix

package dashboard

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// draw writes docs/dashboard.png: the answers of every query, in the layout, titles,
// legends and units of the dashboard.
func draw(t *testing.T, b board, answers map[int][]answer, from, to time.Time) {
	t.Helper()
	type drawn struct {
		panel
		Body template.HTML
		CSS  template.CSS
	}
	var all []drawn
	for _, p := range b.Panels {
		d := drawn{panel: p, CSS: template.CSS(fmt.Sprintf("grid-area:%d/%d/span %d/span %d", p.GridPos.Y+1,
			p.GridPos.X+1, p.GridPos.H, p.GridPos.W))}
		switch p.Type {
		case "stat":
			d.Body = stat(p, answers[p.ID])
		case "timeseries":
			d.Body = graph(p, answers[p.ID], from, to)
		case "table":
			d.Body = table(answers[p.ID])
		}
		all = append(all, d)
	}
	var page bytes.Buffer
	if err := template.Must(template.New("").Parse(pageText)).Execute(&page, map[string]any{"Panels": all,
		"Title": b.Title, "Seconds": int(to.Sub(from).Seconds())}); err != nil {
		t.Fatal(err)
	}
	picture, err := filepath.Abs(filepath.Join(root, "docs", "dashboard.png"))
	if err != nil {
		t.Fatal(err)
	}
	chromium(t, page.Bytes(), picture)
}

const pageText = `<!doctype html><meta charset=utf-8><style>
body{margin:0;padding:12px 16px;background:#f4f5f5;font:12px/1.3 system-ui,sans-serif;color:#24292e}
h1{font-size:17px;margin:0 0 2px}p{margin:0 0 8px;color:#5a6169}
main{display:grid;grid-template-columns:repeat(24,1fr);grid-auto-rows:22px;gap:4px}
section{background:#fff;border:1px solid #dfe1e4;border-radius:2px;padding:4px 8px;overflow:hidden;display:flex;flex-direction:column;min-width:0}
section.row{background:none;border:0;padding:2px 0;font-weight:600;font-size:13px}
h2{font-size:12px;margin:0 0 2px;font-weight:600;white-space:nowrap}
.figures{display:flex;gap:10px;flex:1;align-items:center;justify-content:space-evenly;flex-wrap:wrap}
.figures div{text-align:center;line-height:1.1}.figures b{font-weight:500;font-size:24px}.figures small{display:block;color:#5a6169}
.many b{font-size:14px}svg{flex:1;min-height:0;width:100%;display:block}
.key{display:flex;flex-wrap:wrap;gap:1px 10px;font-size:11px;color:#3a4046}.key i{display:inline-block;width:9px;height:3px;margin-right:4px;vertical-align:middle}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:3px 6px;border-bottom:1px solid #eee;font-size:11px}
</style><h1>{{.Title}}</h1><p>A rendering of the dashboard’s queries, not Grafana itself: the answers of Prometheus’ engine
on the metrics of two workers that placed 900 rows in {{.Seconds}} seconds on a sandbox.</p><main>
{{range .Panels}}<section class="{{.Type}}" style="{{.CSS}}"><h2>{{.Title}}</h2>{{.Body}}</section>{{end}}</main>`

var colors = []string{"#3274d9", "#56a64b", "#e0752d", "#a352cc", "#c4162a", "#1f9e9e", "#b8930b", "#6e7681", "#d64a8b", "#7fb2ff"}

var named = map[string]string{"green": "#37872d", "red": "#c4162a"}

func lastOf(l line) float64 {
	for _, v := range slices.Backward(l.values) {
		if !math.IsNaN(v) {
			return v
		}
	}
	return math.NaN()
}

func stat(p panel, answers []answer) template.HTML {
	class := "figures"
	if len(answers) > 1 {
		class += " many"
	}
	text := `<div class="` + class + `">`
	for _, a := range answers {
		for _, l := range a.lines {
			v, color := lastOf(l), "#24292e"
			for _, s := range p.FieldConfig.Defaults.Thresholds.Steps {
				if s.Value == nil || v >= *s.Value {
					color = named[s.Color]
				}
			}
			shown := unit(p.FieldConfig.Defaults.Unit, v)
			for _, m := range p.FieldConfig.Defaults.Mappings {
				if to, ok := m.Options[strconv.FormatFloat(v, 'f', -1, 64)]; ok {
					shown = to.Text
				}
			}
			text += `<div><b style="color:` + color + `">` + template.HTMLEscapeString(shown) + `</b>`
			if len(answers) > 1 {
				text += `<small>` + template.HTMLEscapeString(legend(a.of, l)) + `</small>`
			}
			text += `</div>`
		}
	}
	return template.HTML(text + `</div>`)
}

func legend(q target, l line) string {
	if q.LegendFormat == "" {
		return l.labels.String()
	}
	return regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`).ReplaceAllStringFunc(q.LegendFormat, func(name string) string {
		return l.labels.Get(strings.Trim(name, "{} "))
	})
}

// unit writes a value in the unit of its panel.
func unit(of string, v float64) string {
	short := strconv.FormatFloat(v, 'f', -1, 64)
	if v != math.Trunc(v) {
		short = strconv.FormatFloat(v, 'g', 3, 64)
	}
	switch of {
	case "ops":
		return strconv.FormatFloat(v, 'f', 1, 64) + " ops/s"
	case "currencyUSD":
		return fmt.Sprintf("$%.1fK", v/1000)
	case "s":
		return fmt.Sprintf("%.0f ms", v*1000)
	case "percentunit":
		return fmt.Sprintf("%.0f%%", v*100)
	case "bytes":
		return fmt.Sprintf("%.0f MiB", v/(1<<20))
	}
	return short
}

// graph draws lines, or areas on top of each other where the panel stacks them.
func graph(p panel, answers []answer, from, to time.Time) template.HTML {
	const width, height, left = 600.0, 150.0, 64.0
	type curve struct {
		name   string
		low    []float64
		values []float64
	}
	var curves []curve
	stacked := p.FieldConfig.Defaults.Custom.Stacking.Mode == "normal"
	var sum []float64
	top := 0.0
	for _, a := range answers {
		for _, l := range a.lines {
			c := curve{legend(a.of, l), make([]float64, len(l.values)), slices.Clone(l.values)}
			if sum == nil {
				sum = make([]float64, len(l.values))
			}
			for i, v := range c.values {
				if stacked {
					c.low[i] = sum[i]
					if !math.IsNaN(v) {
						sum[i] += v
					}
					c.values[i] = sum[i]
				}
				if !math.IsNaN(c.values[i]) {
					top = max(top, c.values[i])
				}
			}
			curves = append(curves, c)
		}
	}
	top = max(top*1.08, 1e-9)
	if p.FieldConfig.Defaults.Unit == "short" && top < 1.2 {
		top = 1.2
	}
	var text strings.Builder
	fmt.Fprintf(&text, `<svg viewBox="0 0 %g %g" preserveAspectRatio="none">`, width, height+14)
	for i := range 4 {
		y := height - height*float64(i)/3.3
		fmt.Fprintf(&text, `<path d="M%g %.1fH%g" stroke="#e6e8ea"/><text x="%g" y="%.1f" font-size="10" text-anchor="end" fill="#5a6169">%s</text>`,
			left, y, width, left-5, max(y+3, 9), template.HTMLEscapeString(unit(p.FieldConfig.Defaults.Unit, round(top*float64(i)/3.3))))
	}
	for i := range 4 {
		at := from.Add(to.Sub(from) * time.Duration(i) / 3)
		anchor := []string{"start", "middle", "middle", "end"}[i]
		fmt.Fprintf(&text, `<text x="%.1f" y="%g" font-size="10" text-anchor="%s" fill="#5a6169">%s</text>`,
			left+(width-left)*float64(i)/3, height+12, anchor, fmt.Sprintf("%.0f s", at.Sub(from).Seconds()))
	}
	key := ""
	for i, c := range curves {
		color := colors[i%len(colors)]
		x := func(i int) float64 { return left + (width-left)*float64(i)/float64(max(1, len(c.values)-1)) }
		path, back, pen := "", "", "M"
		for i, v := range c.values {
			if math.IsNaN(v) {
				pen = "M"
				continue
			}
			path += fmt.Sprintf("%s%.1f %.1f", pen, x(i), height-height*v/top)
			back = fmt.Sprintf("L%.1f %.1f", x(i), height-height*c.low[i]/top) + back
			pen = "L"
		}
		if stacked && path != "" {
			fmt.Fprintf(&text, `<path d="%s%sZ" fill="%s" fill-opacity=".3"/>`, path, back, color)
		}
		fmt.Fprintf(&text, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5" vector-effect="non-scaling-stroke"/>`, path, color)
		key += `<span><i style="background:` + color + `"></i>` + template.HTMLEscapeString(c.name) + `</span>`
	}
	return template.HTML(text.String() + `</svg><div class="key">` + key + `</div>`)
}

func round(v float64) float64 {
	if v == 0 {
		return 0
	}
	digits := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-1)
	return math.Round(v/digits) * digits
}

func table(answers []answer) template.HTML {
	text := "<table>"
	for _, a := range answers {
		for _, l := range a.lines {
			text += "<tr>"
			for _, name := range []string{"version", "revision", "go_version"} {
				text += "<td>" + name + "<br><b>" + template.HTMLEscapeString(l.labels.Get(name)) + "</b></td>"
			}
			text += fmt.Sprintf("<td>Value<br><b>%v</b></td></tr>", lastOf(l))
		}
	}
	return template.HTML(text + "</table>")
}
