package probe

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// A segment is the magic, the version as a little-endian uint32, the nonce, and the CRC-32C of all before it. It has
// exactly that size.
const (
	magic       = "TGPROBE\n"
	version     = 1
	nonceSize   = 32
	nonceStart  = len(magic) + 4
	crcStart    = nonceStart + nonceSize
	segmentSize = crcStart + 4
)

type nonce [nonceSize]byte

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encode(n nonce) []byte {
	text := make([]byte, 0, segmentSize)
	text = append(text, magic...)
	text = binary.LittleEndian.AppendUint32(text, version)
	text = append(text, n[:]...)
	return binary.LittleEndian.AppendUint32(text, crc32.Checksum(text, castagnoli))
}

// decode reads what encode wrote; anything else is not complete.
func decode(text []byte) (n nonce, complete bool) {
	if len(text) != segmentSize {
		return n, false
	}
	copy(n[:], text[nonceStart:])
	return n, bytes.Equal(text, encode(n))
}
