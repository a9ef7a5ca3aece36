package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// plotOf draws the figures of BenchmarkFleet: the rate over the number of workers,
// a line for each time that the service takes, and dashed what the orders in
// flight would allow.
func plotOf(figures string) (string, error) {
	lines, err := csv.NewReader(strings.NewReader(figures)).ReadAll()
	if err != nil {
		return "", fmt.Errorf("read the figures: %w", err)
	}
	type point struct{ workers, rate, bound float64 }
	var answers []string
	of := make(map[string][]point)
	mostWorkers, mostRate, processors := 0.0, 0.0, ""
	for _, line := range lines[1:] {
		var numbers [3]float64
		for i, column := range []int{1, 5, 6} {
			if numbers[i], err = strconv.ParseFloat(line[column], 64); err != nil {
				return "", fmt.Errorf("read the figures: %w", err)
			}
		}
		p := point{numbers[0], numbers[1], numbers[2]}
		if of[line[0]] == nil {
			answers = append(answers, line[0])
		}
		of[line[0]] = append(of[line[0]], p)
		mostWorkers, mostRate, processors = max(mostWorkers, p.workers), max(mostRate, p.rate), line[8]
	}
	const left, top, width, height = 70.0, 56.0, 560.0, 300.0
	step := math.Pow(10, math.Floor(math.Log10(mostRate)))
	for mostRate/step < 4 {
		step /= 2
	}
	high := step * math.Ceil(mostRate*1.05/step)
	x := func(workers float64) float64 { return left + width*workers/(mostWorkers+0.5) }
	y := func(rate float64) float64 { return top + height*(1-rate/high) }
	var b strings.Builder
	fmt.Fprintf(
		&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 420" font-family="sans-serif" font-size="13">
<title>Rows a second over the number of workers</title>
<rect width="760" height="420" fill="#fff"/>
<text x="%.0f" y="26" font-size="16">Rows a second over the number of workers</text>
<text x="%.0f" y="44" fill="#666">%d orders in flight each; `+
			`%s processors for the workers, PostgreSQL, Redis and the service together</text>
`, left, left, 32, processors)
	for rate := 0.0; rate <= high; rate += step {
		fmt.Fprintf(&b, `<path d="M%.1f %.1fH%.1f" stroke="#ddd"/>`+
			`<text x="%.1f" y="%.1f" text-anchor="end" fill="#666">%.0f</text>`+"\n",
			left, y(rate), left+width, left-8, y(rate)+4, rate)
	}
	for _, p := range of[answers[0]] {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#666">%.0f</text>`+"\n", x(p.workers),
			top+height+20, p.workers)
	}
	fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#666">workers</text>`+"\n", left+width/2,
		top+height+42)
	colours := []string{"#c0392b", "#2471a3", "#1e8449", "#7d3c98"}
	for i, answer := range answers {
		var path, dots, ideal strings.Builder
		points := of[answer]
		fmt.Fprintf(&ideal, "M%.1f %.1f", x(0), y(0))
		last := min(points[len(points)-1].workers, high/(points[0].bound/points[0].workers))
		fmt.Fprintf(&ideal, "L%.1f %.1f", x(last), y(last*points[0].bound/points[0].workers))
		for n, p := range points {
			verb := "L"
			if n == 0 {
				verb = "M"
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", verb, x(p.workers), y(p.rate))
			fmt.Fprintf(&dots, `<circle cx="%.1f" cy="%.1f" r="3.5"/>`, x(p.workers), y(p.rate))
		}
		colour, end := colours[i%len(colours)], points[len(points)-1]
		fmt.Fprintf(&b, `<g fill="none" stroke="%s"><path d="%s" stroke-dasharray="4 4"/>`+
			`<path d="%s" stroke-width="2"/></g><g fill="%s">%s<text x="%.1f" y="%.1f">%s ms</text></g>`+"\n",
			colour, ideal.String(), path.String(), colour, dots.String(), x(end.workers)+10, y(end.rate)+4, answer)
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}

// The plot shows the figures that are kept beside it.
func TestPlotShowsTheFigures(t *testing.T) {
	figures, err := os.ReadFile("../../docs/bench/fleet-rate.csv")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := os.ReadFile("../../docs/fleet-rate.svg")
	if err != nil {
		t.Fatal(err)
	}
	if want, err := plotOf(string(figures)); err != nil || string(shown) != want {
		t.Errorf("docs/fleet-rate.svg is not made of docs/bench/fleet-rate.csv (%v): run make bench-fleet", err)
	}
}
