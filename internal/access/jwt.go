package access

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// skew is how far the clocks of the cluster and of this machine may differ.
const skew = 30 * time.Second

// header is what a signed token says of its signature.
type header struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	// Critical are extensions that must be understood. None is.
	Critical any `json:"crit"`
}

// claims are what a token of a service account says, as Kubernetes writes them.
type claims struct {
	Issuer    string   `json:"iss"`
	Subject   string   `json:"sub"`
	Audience  any      `json:"aud"`
	Expires   *float64 `json:"exp"`
	NotBefore *float64 `json:"nbf"`
	// Kubernetes says the same as the subject, and the pod that the token is bound to, if it is.
	Kubernetes struct {
		Namespace      string `json:"namespace"`
		ServiceAccount struct {
			Name string `json:"name"`
		} `json:"serviceaccount"`
		Pod struct {
			Name string `json:"name"`
		} `json:"pod"`
	} `json:"kubernetes.io"`

	namespace, name string
}

// unverified reads a token without believing it.
func unverified(token string) (h header, c claims, err error) {
	first, rest, _ := strings.Cut(token, ".")
	second, _, _ := strings.Cut(rest, ".")
	for _, part := range []struct {
		text string
		into any
	}{{first, &h}, {second, &c}} {
		text, err := base64.RawURLEncoding.DecodeString(part.text)
		if err == nil {
			err = json.Unmarshal(text, part.into)
		}
		if err != nil {
			return h, c, unauthenticated("the bearer token has the two dots of a signed one, and cannot be read as one; see that it is whole")
		}
	}
	return h, c, nil
}

// who names the holder in messages.
func (c *claims) who() string {
	if c.name == "" {
		return fmt.Sprintf("the token of %.128q", c.Subject)
	}
	return fmt.Sprintf("the token of serviceaccount:%s/%s", c.namespace, c.name)
}

// Names in Kubernetes have no characters that mean something in a pattern, so that filling them in cannot widen one.
var kubernetesName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

// settle finds out which account a verified token is of.
func (c *claims) settle() error {
	rest, isAccount := strings.CutPrefix(c.Subject, "system:serviceaccount:")
	namespace, name, two := strings.Cut(rest, ":")
	if !isAccount || !two || !kubernetesName.MatchString(namespace) || !kubernetesName.MatchString(name) {
		return unauthenticated("%s is not that of a service account", c.who())
	}
	c.namespace, c.name = namespace, name
	k := &c.Kubernetes
	if k.Namespace != "" && k.Namespace != namespace || k.ServiceAccount.Name != "" && k.ServiceAccount.Name != name ||
		k.Pod.Name != "" && !kubernetesName.MatchString(k.Pod.Name) {
		return unauthenticated("%s contradicts itself: its subject and its kubernetes.io claim are not of one account", c.who())
	}
	return nil
}

// expires is when a token with an expiry ends. Seconds of Unix time.
func (c *claims) expires() float64 { return *c.Expires + skew.Seconds() }

// lastSecond is the end of the year 9999. No token is valid for so long, and later times cannot be written.
const lastSecond = 253402300799

func (c *claims) check(audience string, now time.Time) error {
	seconds := float64(now.UnixMilli()) / 1000
	switch {
	case !slices.Contains(c.audiences(), audience):
		return unauthenticated("%s is for %s; it must be for the audience %q: project one with that audience into the pod", c.who(),
			c.audience(), audience)
	case c.Expires == nil:
		return unauthenticated("%s never runs out; only projected tokens are taken, which do", c.who())
	case !within(*c.Expires) || c.NotBefore != nil && !within(*c.NotBefore):
		return unauthenticated("%s has times that are none", c.who())
	case seconds >= c.expires():
		return unauthenticated("%s ran out at %s, and it is %s here; read the token's file anew for each request", c.who(), clock(*c.Expires),
			clock(seconds))
	case c.NotBefore != nil && seconds < *c.NotBefore-skew.Seconds():
		return unauthenticated("%s is not valid before %s, and it is %s here; compare the clocks", c.who(), clock(*c.NotBefore), clock(seconds))
	}
	return nil
}

func within(seconds float64) bool { return seconds >= 0 && seconds <= lastSecond }

func clock(seconds float64) string { return time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339) }

// audiences are one text or a list of them; whatever else is there is nobody's.
func (c *claims) audiences() (all []string) {
	switch aud := c.Audience.(type) {
	case string:
		return []string{aud}
	case []any:
		for _, one := range aud {
			if text, isText := one.(string); isText {
				all = append(all, text)
			}
		}
	}
	return all
}

func (c *claims) audience() string {
	all := c.audiences()
	if len(all) == 0 {
		return "no audience"
	}
	return fmt.Sprintf("the audience %.256q", strings.Join(all, ", "))
}
