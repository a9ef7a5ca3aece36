package config

import (
	"fmt"
	"strings"
)

// Help lists the variables for the help of a command with one line each, followed by the command's
// own variables.
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
