package containers

import (
	"fmt"
	"strconv"
)

// figure reports something measured.
func (e *engine) figure(format string, values ...any) {
	e.Helper()
	e.Logf("MEASURED "+format, values...)
}

// megabytes writes a number of bytes in millions.
func megabytes(bytes string) string {
	n, err := strconv.ParseFloat(bytes, 64)
	if err != nil {
		return bytes
	}
	return fmt.Sprintf("%.1f", n/1e6)
}
