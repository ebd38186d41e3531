package access

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Whatever stands in the header, it identifies somebody only if it is exactly a credential, and a refusal quotes none of it.
func FuzzAuthorization(f *testing.F) {
	guard := open(f, "tokens: [{name: ci, sha256: "+hashOf(ciToken)+", roles: [reader]}]\n"+inCluster(vllmAccount),
		map[string]string{"jwks.json": keySetOf(f, rsaSigner())})
	good := rsaSigner().token(f, nil)
	parts := strings.Split(good, ".")
	for _, seed := range []string{
		"", "Bearer", "Bearer ", "Bearer " + ciToken, "bearer  " + ciToken, "Basic " + ciToken, "Bearer " + good, "Bearer a.b.c", "Bearer ..",
		"Bearer " + parts[0] + "." + parts[1] + ".", "Bearer eyJhbGciOiJub25lIn0." + parts[1] + ".", "Bearer " + parts[0] + ".e30." + parts[2],
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, authorization string) {
		identity, err := guard.Identify(asking(authorization))
		scheme, token, _ := strings.Cut(authorization, " ")
		token = strings.Trim(token, " ")
		known := strings.EqualFold(scheme, "Bearer") && (token == ciToken || strings.HasPrefix(token, parts[0]+"."+parts[1]+"."))
		if identity != nil {
			require.NoError(t, err)
			require.True(t, known, "%q identifies %s", authorization, identity.Name)
			return
		}
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, v1.CodeUnauthenticated, e.Code)
		require.Less(t, len(e.Detail), 1024)
		if len(token) > 24 {
			require.NotContains(t, e.Detail, token)
		}
	})
}

// Whatever an access file holds, it is read or refused with a line, and what is read lets in nobody whom it does not name.
func FuzzAccessFile(f *testing.F) {
	for _, name := range []string{"good.yaml", "bad.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(string(text))
	}
	for _, seed := range []string{"", "a", "[", "tokens: &a [*a]", "tokens: [{<<: {}}]", "limits: {burst: 1e9}", "? {}\n: {}", "%YAML 9", "\xff", "tokens: !!binary x"} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(dir, "access.yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		rules, _, err := load(path, nil)
		if err != nil {
			require.Nil(t, rules)
			for _, one := range all(err) {
				require.Regexp(t, `access\.yaml:[1-9][0-9]*: .`, one.Error())
			}
			return
		}
		require.NotEmpty(t, rules.kinds())
		for _, token := range rules.tokens {
			check(t, token.identity)
		}
		for _, certificate := range rules.certificates {
			check(t, certificate.grant)
		}
		for _, peer := range rules.peers {
			require.False(t, peer.uid == nil && peer.gid == nil)
			check(t, peer.grant)
		}
	})
}

func all(err error) []error {
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		return many.Unwrap()
	}
	return []error{err}
}

func check(t *testing.T, i *Identity) {
	require.NotEmpty(t, i.Roles)
	require.False(t, i.Has(Admin) && i.Engines != nil)
	require.True(t, printable(i.Tenant) && printable(i.Name))
	require.True(t, i.Limits.RequestsPerSecond == 0 || i.Limits.RequestsPerSecond >= leastRate && i.Limits.Burst >= 1)
	require.GreaterOrEqual(t, i.Limits.MaxBody, int64(0))
}
