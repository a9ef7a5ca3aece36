package filing

import (
	"maps"
	"slices"
	"strings"
)

// State is a US jurisdiction by its two-letter postal code.
type State string

// stateNames holds the fifty states and the District of Columbia, where
// companies of the two supported types are formed and qualified.
// Assumption: the service's own list is not shown.
var stateNames = map[State]string{
	"AL": "Alabama", "AK": "Alaska", "AZ": "Arizona", "AR": "Arkansas", "CA": "California",
	"CO": "Colorado", "CT": "Connecticut", "DE": "Delaware", "DC": "District of Columbia",
	"FL": "Florida", "GA": "Georgia", "HI": "Hawaii", "ID": "Idaho", "IL": "Illinois",
	"IN": "Indiana", "IA": "Iowa", "KS": "Kansas", "KY": "Kentucky", "LA": "Louisiana",
	"ME": "Maine", "MD": "Maryland", "MA": "Massachusetts", "MI": "Michigan", "MN": "Minnesota",
	"MS": "Mississippi", "MO": "Missouri", "MT": "Montana", "NE": "Nebraska", "NV": "Nevada",
	"NH": "New Hampshire", "NJ": "New Jersey", "NM": "New Mexico", "NY": "New York",
	"NC": "North Carolina", "ND": "North Dakota", "OH": "Ohio", "OK": "Oklahoma", "OR": "Oregon",
	"PA": "Pennsylvania", "RI": "Rhode Island", "SC": "South Carolina", "SD": "South Dakota",
	"TN": "Tennessee", "TX": "Texas", "UT": "Utah", "VT": "Vermont", "VA": "Virginia",
	"WA": "Washington", "WV": "West Virginia", "WI": "Wisconsin", "WY": "Wyoming",
}

// statesByName finds a state by its folded name or code.
var statesByName = func() map[string]State {
	m := make(map[string]State, 2*len(stateNames)+3)
	for code, name := range stateNames {
		m[string(code)] = code
		m[strings.ToUpper(name)] = code
	}
	m["WASHINGTON DC"], m["WASHINGTON D.C."], m["D.C."] = "DC", "DC", "DC"
	return m
}()

// States lists every known state in the order of its code.
func States() []State { return slices.Sorted(maps.Keys(stateNames)) }

// Name returns the state's name, or the code of an unknown state.
func (s State) Name() string {
	if name, ok := stateNames[s]; ok {
		return name
	}
	return string(s)
}

// Known reports whether s is the code of a state.
func (s State) Known() bool { _, ok := stateNames[s]; return ok }

// ParseState reads a code or a name in any case: "de", "Delaware", "NEW YORK".
func ParseState(text string) (State, bool) {
	if len(text) == 2 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'A' && text[1] <= 'Z' {
		// The common case costs nothing.
		_, ok := stateNames[State(text)]
		return State(text), ok
	}
	folded := strings.ToUpper(strings.TrimSpace(text))
	s, ok := statesByName[folded]
	if !ok {
		s, ok = statesByName[strings.TrimPrefix(folded, "STATE OF ")]
	}
	return s, ok
}
