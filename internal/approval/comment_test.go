package approval

import "testing"

// A comment is kept and shown as it was written, but for Social Security numbers.
func TestCommentHidesSecrets(t *testing.T) {
	got, err := checkComment(" The number of its owner is 219-09-1120. ")
	if err != nil || got != "The number of its owner is ***-**-1120." {
		t.Errorf("%q, %v", got, err)
	}
}
