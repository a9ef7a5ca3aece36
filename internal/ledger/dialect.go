package ledger

import (
	"fmt"
	"strings"

	"github.com/pressly/goose/v3"
)

// dialect is all that differs between the two databases. Every statement is
// written once; a group of transitions travels as one JSON array, which each
// database turns into a table in its own way.
type dialect struct {
	goose      goose.Dialect
	migrations string
	forUpdate  string // locks the control row; SQLite's writers lock the whole file
	unnest     func(columns []string) string
}

var sqlite = dialect{
	goose:      goose.DialectSQLite3,
	migrations: "migrations/sqlite",
	unnest: func(columns []string) string {
		selected := make([]string, len(columns))
		for i, c := range columns {
			name, _, _ := strings.Cut(c, " ")
			selected[i] = fmt.Sprintf("value->>'$.%s' AS %s", name, name)
		}
		return "(SELECT " + strings.Join(selected, ", ") + " FROM json_each($1)) AS v"
	},
}

var postgres = dialect{
	goose:      goose.DialectPostgres,
	migrations: "migrations/postgres",
	forUpdate:  " FOR UPDATE",
	unnest: func(columns []string) string {
		return "jsonb_to_recordset($1::jsonb) AS v(" + strings.Join(columns, ", ") + ")"
	},
}

// from names the group parameter $1 as the table v with columns such as
// "id bigint" or "message text".
func (d dialect) from(columns ...string) string { return " FROM " + d.unnest(columns) + " " }
