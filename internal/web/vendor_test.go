package web

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"strings"
	"testing"
)

// vendored are the files of SlickGrid 5.20.2, with their hashes as its package
// has them: its code is not changed here.
var vendored = map[string]string{
	"slickgrid/LICENSE":                     "bfce12a8ee2abffdc3784453b1866112c31705ddc55ebf586faf24f75069737c",
	"slickgrid/slick.cellrangedecorator.js": "522e00f18d9a125c5e08b7338d0379772157a19c31aa1a218a211c3afa607b7e",
	"slickgrid/slick.cellrangeselector.js":  "e1821121184f044232dc398be9cf6f39562f3700d23ce0f08c26a18de68e09a8",
	"slickgrid/slick.cellselectionmodel.js": "bdeb0cacc4ffcdebfa6cd2301e2f5307be317e723b3a6ef490718555087fd188",
	"slickgrid/slick.core.js":               "34fdd20ddbed9b988195cca89c7e234ca7f306ea272824080ad22aba18a63a96",
	"slickgrid/slick.grid.css":              "0e7cff2da3f989c945cc0fb739cc224768d207d388184dcfb10b57a58e535f4e",
	"slickgrid/slick.grid.js":               "30179ba19697311a8ff536aec4cfbb2cd0bbe4437482b097f065207fed4933f7",
	"slickgrid/slick.interactions.js":       "09f105b193ce300e9c3325df54a34960611bb8c10077da877bbad53a1a886df8",
}

// The foreign code that the pages load is what was reviewed, and its license is
// beside it.
func TestVendoredFiles(t *testing.T) {
	found := 0
	err := fs.WalkDir(files, "static/vendor", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		found++
		sum := sha256.Sum256(content)
		name := strings.TrimPrefix(path, "static/vendor/")
		if got := hex.EncodeToString(sum[:]); got != vendored[name] {
			t.Errorf("%s has the hash %s, want %q", name, got, vendored[name])
		}
		if folder, _, _ := strings.Cut(name, "/"); strings.HasSuffix(name, ".js") {
			license, err := files.ReadFile("static/vendor/" + folder + "/LICENSE")
			if err != nil || !strings.Contains(string(license), "without restriction") {
				t.Errorf("%s has no license that allows it: %v", name, err)
			}
		}
		for _, never := range []string{"eval(", "new Function(", "document.write("} {
			if strings.HasSuffix(name, ".js") && strings.Contains(string(content), never) {
				t.Errorf("%s has %s, which the policy of the pages refuses", name, never)
			}
		}
		return nil
	})
	if err != nil || found != len(vendored) {
		t.Errorf("%d files, want %d: %v", found, len(vendored), err)
	}
}
