package policy

import (
	"bytes"
	"crypto/sha256"

	lru "github.com/hashicorp/golang-lru/v2"
)

// maxKnownBytes keeps the verdicts on huge launches from filling the memory: with DefaultVerdicts of them it is 16 MiB.
const maxKnownBytes = 32 << 10

// known holds the latest verdicts of a revision by their digest. Equal digests mean equal verdicts, and equal launches come
// in bunches: every pod of a group asks for itself, and a launcher asks again when it retries. It is part of the snapshot,
// so that it ends with the revision. What goes in and out is copied, so that nobody can change another's answer. A nil known
// holds nothing.
type known struct {
	verdicts *lru.Cache[[sha256.Size]byte, Decision]
}

func newKnown(size int) *known {
	if size < 0 {
		return nil
	}
	verdicts, err := lru.New[[sha256.Size]byte, Decision](size)
	if err != nil {
		panic(err) // the size is positive
	}
	return &known{verdicts}
}

func (k *known) get(key [sha256.Size]byte) (Decision, bool) {
	if k == nil {
		return Decision{}, false
	}
	d, found := k.verdicts.Get(key)
	d.JSON = bytes.Clone(d.JSON)
	return d, found
}

func (k *known) add(key [sha256.Size]byte, d Decision) {
	if k != nil && len(d.JSON) <= maxKnownBytes {
		d.JSON = bytes.Clone(d.JSON)
		k.verdicts.Add(key, d)
	}
}
