package signin

import (
	"fmt"
	"slices"
	"strings"
)

// GroupRole assigns a role to a group of the provider.
type GroupRole struct{ Group, Role string }

// GroupRoles assigns roles to groups. Any other group has no role.
type GroupRoles []GroupRole

// ParseGroupRoles parses pairs such as "filing-approvers=approver, filing-ops=operator". Groups
// with commas in their names are separated by semicolons or line breaks.
func ParseGroupRoles(text string, roles []string) (GroupRoles, error) {
	parted := func(r rune) bool { return r == ',' }
	if strings.ContainsAny(text, ";\n") {
		parted = func(r rune) bool { return r == ';' || r == '\n' }
	}
	var all GroupRoles
	for pair := range strings.FieldsFuncSeq(text, parted) {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		at := strings.LastIndexByte(pair, '=')
		if at < 0 {
			return nil, fmt.Errorf("%q is not GROUP=ROLE", pair)
		}
		g := GroupRole{strings.TrimSpace(pair[:at]), strings.TrimSpace(pair[at+1:])}
		if g.Group == "" || !slices.Contains(roles, g.Role) {
			return nil, fmt.Errorf("%q is not GROUP=ROLE: the roles are %s", pair, strings.Join(roles, ", "))
		}
		all = append(all, g)
	}
	return all, nil
}

// Of returns the distinct roles of a person in these groups.
func (r GroupRoles) Of(groups []string) []string {
	var all []string
	for _, g := range r {
		if slices.Contains(groups, g.Group) && !slices.Contains(all, g.Role) {
			all = append(all, g.Role)
		}
	}
	return all
}
