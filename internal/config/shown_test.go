package config_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/config"
)

// Whatever setting an address with a password is given to, the password is not shown.
func TestShownHasEveryKeyAndNoSecret(t *testing.T) {
	const secret = "hunter2"
	for _, address := range []string{
		"https://user:" + secret + "@host:1/path?token=" + secret + "&x=" + secret + "#" + secret, "nats://" + secret + "@a:4222,nats://b:" + secret + "@c",
		"http://ho st:" + secret + "@",
	} {
		s := config.Serve{}
		for _, value := range reflect.ValueOf(&s).Elem().Fields() {
			switch into := value.Addr().Interface().(type) {
			case *string:
				*into = address
			case *[]string:
				*into = []string{address, "plain"}
			}
		}
		shown := s.Shown()
		assert.Len(t, shown, reflect.TypeFor[config.Serve]().NumField())
		text, err := json.Marshal(shown)
		require.NoError(t, err)
		assert.NotContains(t, string(text), secret, address)
	}
	s := config.Serve{Addr: []string{"127.0.0.1:1"}, NATS: "nats://u:p@a:4222,tls://b:4222", MaxBody: 8 << 20, IdleTimeout: time.Minute, Access: "/etc/a.yaml"}
	shown := s.Shown()
	assert.Equal(t, []any{[]string{"127.0.0.1:1"}, "nats://xxxxx@a:4222,tls://b:4222", "8MiB", "1m0s", "/etc/a.yaml", 0, false},
		[]any{shown["addr"], shown["nats"], shown["max_body"], shown["idle_timeout"], shown["access"], shown["max_requests"], shown["pprof"]})
}
