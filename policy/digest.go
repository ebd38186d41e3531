package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// ContentDigest is over everything in the sources that affects a verdict or its tests: the text of the rules, those that ship
// included, and the data as one document. Names, order, times and how the data are spread over files do not count, so that a directory and a
// bundle made of it have one digest. It is "sha256:" with 64 hexadecimal digits.
func ContentDigest(sources []Source, data []byte) (string, error) {
	src, err := read(sources, data, "")
	if err != nil {
		return "", err
	}
	doc, err := asJSON(src.data)
	if err != nil {
		return "", err
	}
	var sums []string
	for _, f := range slices.Concat(src.modules, src.tests) {
		sum := sha256.Sum256(f.text)
		sums = append(sums, string(sum[:]))
	}
	slices.Sort(sums)
	whole := sha256.New()
	sum := sha256.Sum256(doc)
	whole.Write(sum[:])
	for _, s := range sums {
		whole.Write([]byte(s))
	}
	return "sha256:" + hex.EncodeToString(whole.Sum(nil)), nil
}
