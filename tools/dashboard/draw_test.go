//go:build unix

package dashboard

import (
	"bytes"
	_ "embed"
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

//go:embed picture.html
var pageText string

var colors = []string{"#3274d9", "#56a64b", "#e0752d", "#a352cc", "#c4162a", "#1f9e9e", "#b8930b", "#6e7681",
	"#d64a8b", "#7fb2ff"}

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

// curve is a line of a graph: from low, which is 0 unless the panel stacks its lines.
type curve struct {
	name        string
	low, values []float64
}

// curves returns the lines of a panel, and the highest value of them.
func curves(answers []answer, stacked bool) (all []curve, top float64) {
	var sum []float64
	for _, a := range answers {
		for _, l := range a.lines {
			if sum == nil {
				sum = make([]float64, len(l.values))
			}
			c := curve{legend(a.of, l), make([]float64, len(l.values)), slices.Clone(l.values)}
			if stacked {
				c.stackOn(sum)
			}
			for _, v := range c.values {
				if !math.IsNaN(v) {
					top = max(top, v)
				}
			}
			all = append(all, c)
		}
	}
	return all, top
}

// stackOn puts the line on the sum of those below it, and adds it to the sum.
func (c *curve) stackOn(sum []float64) {
	for i, v := range c.values {
		c.low[i] = sum[i]
		if !math.IsNaN(v) {
			sum[i] += v
		}
		c.values[i] = sum[i]
	}
}

// The size of a graph, in units of its picture; the values stand left of it.
const graphWidth, graphHeight, graphLeft = 600.0, 150.0, 64.0

// graph draws lines, or areas on top of each other where the panel stacks them.
func graph(p panel, answers []answer, from, to time.Time) template.HTML {
	stacked := p.FieldConfig.Defaults.Custom.Stacking.Mode == "normal"
	all, top := curves(answers, stacked)
	top = max(top*1.08, 1e-9)
	if p.FieldConfig.Defaults.Unit == "short" && top < 1.2 {
		top = 1.2
	}
	var text strings.Builder
	fmt.Fprintf(&text, `<svg viewBox="0 0 %g %g" preserveAspectRatio="none">`, graphWidth, graphHeight+14)
	for i := range 4 {
		y := graphHeight - graphHeight*float64(i)/3.3
		value := unit(p.FieldConfig.Defaults.Unit, round(top*float64(i)/3.3))
		fmt.Fprintf(&text, `<path d="M%g %.1fH%g" stroke="#e6e8ea"/>`, graphLeft, y, graphWidth)
		fmt.Fprintf(&text, `<text x="%g" y="%.1f" font-size="10" text-anchor="end" fill="#5a6169">%s</text>`,
			graphLeft-5, max(y+3, 9), template.HTMLEscapeString(value))
	}
	for i := range 4 {
		at := from.Add(to.Sub(from) * time.Duration(i) / 3)
		anchor := []string{"start", "middle", "middle", "end"}[i]
		fmt.Fprintf(&text, `<text x="%.1f" y="%g" font-size="10" text-anchor="%s" fill="#5a6169">%s</text>`,
			graphLeft+(graphWidth-graphLeft)*float64(i)/3, graphHeight+12, anchor,
			fmt.Sprintf("%.0f s", at.Sub(from).Seconds()))
	}
	key := ""
	for i, c := range all {
		color := colors[i%len(colors)]
		line, area := c.paths(top)
		if stacked && line != "" {
			fmt.Fprintf(&text, `<path d="%s" fill="%s" fill-opacity=".3"/>`, area, color)
		}
		fmt.Fprintf(&text, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5" `+
			`vector-effect="non-scaling-stroke"/>`, line, color)
		key += `<span><i style="background:` + color + `"></i>` + template.HTMLEscapeString(c.name) + `</span>`
	}
	return template.HTML(text.String() + `</svg><div class="key">` + key + `</div>`)
}

// paths are the line of a curve, and the area between it and what it stands on.
func (c *curve) paths(top float64) (line, area string) {
	x := func(i int) float64 {
		return graphLeft + (graphWidth-graphLeft)*float64(i)/float64(max(1, len(c.values)-1))
	}
	back, pen := "", "M"
	for i, v := range c.values {
		if math.IsNaN(v) {
			pen = "M"
			continue
		}
		line += fmt.Sprintf("%s%.1f %.1f", pen, x(i), graphHeight-graphHeight*v/top)
		back = fmt.Sprintf("L%.1f %.1f", x(i), graphHeight-graphHeight*c.low[i]/top) + back
		pen = "L"
	}
	return line, line + back + "Z"
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
