package config

import (
	"fmt"
	"strings"
)

// Help lists the variables as a command's help has them, a line each, and
// behind them those of that command alone.
func Help(own ...Variable) string {
	var b strings.Builder
	for _, v := range append(Variables[:len(Variables):len(Variables)], own...) {
		meaning := v.Meaning
		if v.Default != "" {
			meaning += " (" + v.Default + ")"
		}
		fmt.Fprintf(&b, "  %-21s %s\n", v.Name, meaning)
	}
	return b.String()
}
