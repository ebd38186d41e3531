package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/policy"
)

type entry struct {
	name, text string
	kind       byte
}

func file(name, text string) entry { return entry{name, text, tar.TypeReg} }

var rule = file("/a.rego", "package site.a\n\nx := 1\n")

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: e.name, Typeflag: e.kind, Size: int64(len(e.text)), Linkname: linkOf(e.kind)}))
		_, err := w.Write([]byte(e.text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func linkOf(kind byte) string {
	if kind == tar.TypeSymlink || kind == tar.TypeLink {
		return "a.rego"
	}
	return ""
}

func zipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestReadTakesOPAsNames(t *testing.T) {
	for _, prefix := range []string{"/", "./", ""} {
		packed := zipped(t, tarOf(t,
			entry{"./", "", tar.TypeDir}, file(prefix+"a.rego", rule.text), file(prefix+"site/data.yaml", "n: 1\n"),
			file(prefix+".manifest", `{"revision": "r1", "roots": ["site"]}`), file(prefix+"policy.wasm", "ignored")))
		b, err := Read("b", bytes.NewReader(packed), Limits{})
		require.NoError(t, err)
		assert.Equal(t, "r1", b.Manifest.Revision)
		source, err := b.Source()
		require.NoError(t, err)
		assert.NoError(t, fstest.TestFS(source.FS, "a.rego", "site/data.yaml"))
	}
}

func TestReadRefuses(t *testing.T) {
	const clean = "its name leads out of the bundle or is not clean; write folders and a file separated by single slashes, " +
		"without .., backslashes and control characters"
	const special = "it is a link, a device or of another special kind ('%'); only files and folders are allowed"
	for _, test := range []struct {
		name, want string
		entries    []entry
	}{
		{"parent", `file "../a.rego": ` + clean, []entry{file("../a.rego", "")}},
		{"inner parent", `file "/x/../../a.rego": ` + clean, []entry{file("/x/../../a.rego", "")}},
		{"absolute", `file "//etc/a.rego": ` + clean, []entry{file("//etc/a.rego", "")}},
		{"backslash", `file "x\\..\\a.rego": ` + clean, []entry{file(`x\..\a.rego`, "")}},
		{"symlink", `file "l": ` + strings.Replace(special, "%", "2", 1), []entry{{"l", "", tar.TypeSymlink}}},
		{"hard link", `file "l": ` + strings.Replace(special, "%", "1", 1), []entry{{"l", "", tar.TypeLink}}},
		{"device", `file "l": ` + strings.Replace(special, "%", "3", 1), []entry{{"l", "", tar.TypeChar}}},
		{"twice", `file "a.rego": it is there twice; each file may stand in a bundle once`, []entry{rule, file("./a.rego", "")}},
		{"case", `file "A.rego": its name differs from "a.rego" in case only`, []entry{rule, file("A.rego", "")}},
		{"ending", `file "b.Rego": write its ending .rego`, []entry{file("b.Rego", "")}},
		{"data", `file "Data.json": write it data.json`, []entry{file("Data.json", "{}")}},
		{"file in file", `file "a.rego/b": it lies in "a.rego", which is a file`, []entry{rule, file("a.rego/b", "")}},
		{"long name", `file "` + strings.Repeat("n", 40) + `...": its name has 60 bytes; allowed are 50`, []entry{file(strings.Repeat("n", 60), "")}},
		{"large file", `file "b": it has 3001 bytes; allowed are 3000`, []entry{file("b", strings.Repeat("x", 3001))}},
		{"many files", `it has more than 4 files and folders, which is what is allowed`, []entry{file("1", ""), file("2", ""), file("3", ""), file("4", ""), file("5", "")}},
		{"expanded", `it has more than 8000 bytes expanded, which is what is allowed`, []entry{file("1", strings.Repeat("x", 3000)), file("2", strings.Repeat("x", 3000)), file("3", strings.Repeat("x", 3000))}},
		{"delta", `file "patch.json": it is a delta bundle, which cannot be signed or tested as a whole; give a full bundle`, []entry{file("patch.json", "{}")}},
		{"wasm alone", "it holds WebAssembly without the Rego that it was made of, which checks and their METADATA are read from; " +
			"build it without leaving the rules out", []entry{file("policy.wasm", "x")}},
		{"entry point", `file ".manifest": entry point a/b stands in the WebAssembly alone: ` +
			"`opa build -t wasm` takes its rules out of the Rego, which checks are read from; build without -t wasm", []entry{rule, file(".manifest", `{"wasm": [{"entrypoint": "a/b", "module": "/policy.wasm"}]}`)}},
		{"root of rule", `file "a.rego": it sets "site/a", which lies outside the roots ["other"] of the manifest`, []entry{rule, file(".manifest", `{"roots": ["other"]}`)}},
		{"root of data", `file "data.json": it sets "b", which lies outside the roots ["a"] of the manifest`, []entry{file("data.json", `{"a": 1, "b": 2}`), file(".manifest", `{"roots": ["a"]}`)}},
		{"roots overlap", `file ".manifest": its roots "a" and "a/b" overlap`, []entry{file(".manifest", `{"roots": ["a", "a/b"]}`)}},
		{"v0", "file \".manifest\": it asks for Rego v0; only v1 is understood: run `opa fmt --write --v0-v1` on the rules", []entry{rule, file(".manifest", `{"rego_version": 0}`)}},
	} {
		_, err := Read("b", bytes.NewReader(zipped(t, tarOf(t, test.entries...))), Limits{Files: 4, File: 3000, Path: 50, Expanded: 8000})
		assert.EqualError(t, err, "bundle b: "+test.want, test.name)
	}
}

func TestReadRefusesBrokenStreams(t *testing.T) {
	archive := tarOf(t, rule, file("b.rego", "package b\n"))
	good := zipped(t, archive)
	random := make([]byte, 16<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	incompressible := tarOf(t, file("b", string(random)))
	damaged := bytes.Clone(good)
	damaged[len(damaged)-6] ^= 1
	for _, test := range []struct {
		name, want string
		text       []byte
	}{
		{"empty", "it is cut off: the download or the copy ended early; fetch it again", nil},
		{"no gzip", "it is no gzipped tar, as `opa build` and `tiergate policy build` make them", archive},
		{"checksum", "it is damaged: the gzip checksum or its data are wrong; fetch it again", damaged},
		{"no end", "it is cut off: the download or the copy ended early; fetch it again", zipped(t, archive[:1024])},
		{"trailing", "it is no proper tar: something follows its end", zipped(t, append(bytes.Clone(archive), 'x'))},
		{"compressed", "it has more than 4096 bytes compressed, which is what is allowed", zipped(t, incompressible)},
	} {
		_, err := Read("b", bytes.NewReader(test.text), Limits{Compressed: 4096})
		assert.EqualError(t, err, "bundle b: "+test.want, test.name)
	}
	for n := range good {
		_, err := Read("b", bytes.NewReader(good[:n]), Limits{})
		assert.Error(t, err, "cut off after %d of %d bytes", n, len(good))
	}
}

// A tar that stops behind a file of zeros looks like one that ends, also in a gzip whose checksum is right.
func TestReadTellsZerosInAFileFromTheEnd(t *testing.T) {
	archive := tarOf(t, file(".manifest", `{"roots": ["site"]}`), file("zeros.txt", strings.Repeat("\x00", 3*tarBlock)))
	whole := bytes.Index(archive, []byte("zeros.txt")) + 4*tarBlock
	_, err := Read("b", bytes.NewReader(stored(t, archive[:whole+2*tarBlock])), Limits{})
	require.NoError(t, err)
	for _, missing := range []int{-tarBlock, 0, 1, tarBlock} {
		_, err = Read("b", bytes.NewReader(stored(t, archive[:whole-missing])), Limits{})
		assert.EqualError(t, err, "bundle b: it is cut off: the download or the copy ended early; fetch it again", missing)
	}
}

// A gigabyte of zeros is a megabyte of gzip; reading must end at the limit.
func TestReadEndsBombsEarly(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	archive := tar.NewWriter(w)
	require.NoError(t, archive.WriteHeader(&tar.Header{Name: "data.json", Typeflag: tar.TypeReg, Size: 64 << 20}))
	_, err := archive.Write(make([]byte, 64<<20))
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	require.NoError(t, w.Close())
	in := bytes.NewReader(bomb.Bytes())
	_, err = Read("b", in, Limits{Expanded: 1 << 20, File: 1 << 30})
	assert.EqualError(t, err, "bundle b: it has more than 1048576 bytes expanded, which is what is allowed")
	assert.Greater(t, in.Len(), bomb.Len()/2, "most of it was not read")
}

// A sparse file gives its holes without any stream behind them.
func TestReadCountsTheHolesOfSparseFiles(t *testing.T) {
	b := newBuilder("b", Limits{Expanded: 150, File: 100, Path: 10})
	holes := func(name string) error {
		return b.readEntry(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: 100}, bytes.NewReader(make([]byte, 100)))
	}
	require.NoError(t, holes("one"))
	assert.EqualError(t, holes("two"), "bundle b: it has more than 150 bytes expanded, which is what is allowed")
}

func TestBuiltBundleIsTheSitesPart(t *testing.T) {
	site := []policy.Source{{Name: "site", FS: fstest.MapFS{
		"a.rego": {Data: []byte(rule.text)}, "data.json": {Data: []byte(`{"settings": {"enforcement": {"capacity.shm": "warn"}}}`)},
	}}}
	var packed bytes.Buffer
	revision, err := policy.WriteBundle(t.Context(), &packed, site, nil, "")
	require.NoError(t, err)
	b, err := Read("b", bytes.NewReader(packed.Bytes()), Limits{})
	require.NoError(t, err)
	assert.Equal(t, revision, b.Manifest.Revision)
	source, err := b.Source()
	require.NoError(t, err)
	want, err := policy.ContentDigest(site, nil)
	require.NoError(t, err)
	got, err := policy.ContentDigest([]policy.Source{source}, nil)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	b.files["rego/verdict.rego"] = []byte("package tiergate.verdict\n")
	_, err = b.Source()
	assert.ErrorContains(t, err, `bundle b: file "rego/verdict.rego": it is not the rule that this tiergate ships`)
}

func TestReadDirFollowsAConfigMap(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(dir+"/..one", 0o755))
	require.NoError(t, os.WriteFile(dir+"/..one/a.rego", []byte(rule.text), 0o644))
	require.NoError(t, os.Symlink("..one", dir+"/..data"))
	require.NoError(t, os.Symlink("..data/a.rego", dir+"/a.rego"))
	b, err := ReadDir("d", os.DirFS(dir), Limits{})
	require.NoError(t, err)
	assert.Equal(t, []string{"a.rego"}, sorted(b.files))
	_, err = ReadDir("d", os.DirFS(dir), Limits{File: 3})
	assert.EqualError(t, err, `bundle d: file "a.rego": it has more than 3 bytes, which is what is allowed`)
}

// stored wraps without compressing, which would take most of the time of the fuzzer.
func stored(t testing.TB, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.NoCompression)
	require.NoError(t, err)
	_, err = w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func FuzzRead(f *testing.F) {
	real := &Bundle{files: map[string][]byte{
		"a.rego": []byte(rule.text), ".manifest": []byte(`{"revision": "r", "roots": ["site", "settings"], "rego_version": 1}`),
		"site/a_test.rego": []byte("package site.a_test\n"), "settings/data.json": []byte(`{"features": {"mirror": []}}`),
	}}
	signature, err := real.Sign(Signing{Key: Key{Text: []byte("a secret of the platform team"), Algorithm: "HS256"}})
	require.NoError(f, err)
	real.files[".signatures.json"] = signature
	var packed bytes.Buffer
	require.NoError(f, real.Write(&packed))
	unzipped, err := gzip.NewReader(&packed)
	require.NoError(f, err)
	archive, err := io.ReadAll(unzipped)
	require.NoError(f, err)
	f.Add(archive)
	f.Add(tarOf(f, rule, file(".manifest", `{"roots": ["site"]}`), file("data.yaml", "a: 1")))
	f.Add(tarOf(f, file("../x", ""), entry{"l", "", tar.TypeSymlink}))
	f.Fuzz(func(t *testing.T, archive []byte) {
		b, err := Read("b", bytes.NewReader(stored(t, archive)), Limits{Expanded: 1 << 16})
		if err != nil {
			return
		}
		var again bytes.Buffer
		require.NoError(t, b.Write(&again))
		second, err := Read("b", &again, Limits{})
		require.NoError(t, err)
		assert.Equal(t, b.files, second.files)
		_, _ = b.Source()
	})
}
