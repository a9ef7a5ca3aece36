// The check of the tests of the core, apart from the product's own code:
// go -C tools/mutants run .
module github.com/bulkfiling/bulkfiling/tools/mutants

go 1.26.0
