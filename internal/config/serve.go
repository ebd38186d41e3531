package config

import "time"

// Serve is how the service runs. The name of a field is written --diagnostic-addr as a flag, TIERGATE_DIAGNOSTIC_ADDR
// as a variable and diagnostic_addr as a key; flags win over variables, and these over the file. A zero value counts as
// not given everywhere, so no setting has a meaning for zero.
type Serve struct {
	// Addr are where requests are answered: host:port, or unix:// with a path. Default 127.0.0.1:8642.
	Addr []string `yaml:"addr" group:"Listening" placeholder:"ADDR" help:"Listen here: host:port or unix://path; repeatable. Default 127.0.0.1:8642."`
	// DiagnosticAddr takes /metrics away from Addr and serves it with the health routes. It may be reachable from
	// elsewhere, for probes and scrapers: it only tells, and nothing about single launches.
	DiagnosticAddr string `yaml:"diagnostic_addr" group:"Listening" placeholder:"ADDR" help:"Serve health and metrics here, and metrics nowhere else."`
	// WebhookAddr answers the API server's admission reviews and health, and nothing else, over TLS: an API server
	// rarely has credentials. With TLSClientCA it must show a certificate.
	WebhookAddr string `yaml:"webhook_addr" group:"Listening" placeholder:"ADDR" help:"Answer Kubernetes admission reviews here, over TLS, and nothing else."`

	// TLSCert and TLSKey make the host:port addresses speak TLS; TLSClientCA vouches for the certificates of clients.
	TLSCert     string `yaml:"tls_cert" group:"Listening" placeholder:"FILE" name:"tls-cert" help:"Speak TLS with the certificate in this PEM file."`
	TLSKey      string `yaml:"tls_key" group:"Listening" placeholder:"FILE" name:"tls-key" help:"Take the key of the certificate from this PEM file."`
	TLSClientCA string `yaml:"tls_client_ca" group:"Listening" placeholder:"FILE" name:"tls-client-ca" help:"Believe client certificates that this PEM file vouches for."`
	// Access is a file that says who may ask what. Without it everybody who can connect may ask everything but what an
	// administrator may, so only this machine can connect unless AllowUnauthenticated says otherwise by name; with both,
	// whoever shows no credentials is nobody in particular. AllowPlaintext lets tokens cross a network in the open, e.g.
	// where a service mesh encrypts.
	Access               string `yaml:"access" group:"Access" placeholder:"FILE" help:"Let ask whom this YAML file names, with their roles and tenants."`
	AllowUnauthenticated bool   `yaml:"allow_unauthenticated" group:"Access" help:"Listen beyond loopback with nobody authenticated."`
	AllowPlaintext       bool   `yaml:"allow_plaintext" group:"Access" help:"Listen beyond loopback without TLS though tokens are taken."`
	// AdminAPI opens the routes that change policies and show decisions, to identities with the role admin.
	AdminAPI bool `yaml:"admin_api" group:"Access" name:"admin-api" help:"Let administrators change policies and read decisions over REST."`

	// Policy are directories, bundles and URLs of bundles that add to the rules that ship, Data is a file with the site's
	// data document. They are looked at every PolicyPoll. Token is a file with a bearer token for the URLs, CA vouches for
	// their servers, and PolicyState is a directory that keeps the last good copy of what came from elsewhere.
	Policy      []string      `yaml:"policy" group:"Policies" placeholder:"PATH" help:"Add the rules of this directory, bundle or http(s) URL of a bundle; repeatable."`
	PolicyPoll  time.Duration `yaml:"policy_poll" group:"Policies" help:"Look for changed policies so often. Default 10s."`
	PolicyToken string        `yaml:"policy_token" group:"Policies" placeholder:"FILE" help:"Send the bearer token in this file when bundles are fetched."`
	PolicyCA    string        `yaml:"policy_ca" group:"Policies" placeholder:"FILE" name:"policy-ca" help:"Believe bundle servers whose certificates this PEM file vouches for."`
	PolicyState string        `yaml:"policy_state" group:"Policies" placeholder:"DIR" help:"Keep the last good copy of fetched policies in this directory."`
	// PolicyLaunches is a directory with launches whose verdicts a changed policy must not flip, but for what PolicyAccept names.
	PolicyLaunches string   `yaml:"policy_launches" group:"Policies" placeholder:"DIR" help:"Refuse changed policies that flip verdicts of the launches in this directory."`
	PolicyAccept   []string `yaml:"policy_accept" group:"Policies" placeholder:"NAME" help:"Accept this flip of a stored launch; repeatable."`
	Data           string   `yaml:"data" group:"Policies" placeholder:"FILE" help:"Take site data, such as waivers, from this JSON or YAML file."`
	CacheDir       string   `yaml:"cache_dir" group:"Policies" placeholder:"DIR" help:"Keep compiled policies in this directory, for a faster start."`

	// VerificationKey is a file with the key that every policy must be signed with; the others say more about the signature.
	VerificationKey   string `yaml:"verification_key" group:"Policies" placeholder:"FILE" help:"Take policies only if they are signed with the key in this file."`
	VerificationAlg   string `yaml:"verification_alg" group:"Policies" placeholder:"ALG" help:"Expect this signature algorithm. Default RS256."`
	VerificationKeyID string `yaml:"verification_key_id" group:"Policies" placeholder:"ID" name:"verification-key-id" help:"Expect this key id in signatures."`
	VerificationScope string `yaml:"verification_scope" group:"Policies" placeholder:"SCOPE" help:"Expect this scope in signatures."`

	// NATS is the cluster that keeps the attempts of engines, which services on one cluster share: nats:// or tls:// servers,
	// separated by commas. Without it this process keeps those that are reported to it. The files are a credentials file,
	// the certificates of who signs for the servers, and this client's own pair. NATSReplicas is how many servers of the
	// cluster keep a record.
	NATS         string `yaml:"nats" group:"Attempts" placeholder:"SERVERS" help:"Keep attempts in this NATS cluster: nats:// or tls:// servers, separated by commas."`
	NATSCreds    string `yaml:"nats_creds" group:"Attempts" placeholder:"FILE" help:"Use this NATS credentials file."`
	NATSCA       string `yaml:"nats_ca" group:"Attempts" placeholder:"FILE" name:"nats-ca" help:"Believe NATS servers whose certificates this PEM file vouches for."`
	NATSCert     string `yaml:"nats_cert" group:"Attempts" placeholder:"FILE" help:"Show NATS servers the client certificate in this PEM file."`
	NATSKey      string `yaml:"nats_key" group:"Attempts" placeholder:"FILE" help:"Take the key of the client certificate from this PEM file."`
	NATSReplicas int    `yaml:"nats_replicas" group:"Attempts" placeholder:"N" help:"Have so many NATS servers keep a record: 1, 3 or 5. Default 3."`
	// KeepAttempts is how long an attempt that ended can be looked at.
	KeepAttempts time.Duration `yaml:"keep_attempts" group:"Attempts" help:"Remember attempts so long after they ended. Default 15m0s."`

	// DecisionLog is stdout, a file, or the http(s) URL that takes OPA's decision logs; without it none are kept. The token is a
	// file with a bearer token for the URL. Buffer bounds what waits in memory, and the spool is a directory in which decisions
	// wait on disk. A file that has its size is renamed, and so many of these are kept.
	DecisionLog         string `yaml:"decision_log" group:"Decision log" placeholder:"WHERE" help:"Log decisions to stdout, to this file, or to this http(s) URL."`
	DecisionLogToken    string `yaml:"decision_log_token" group:"Decision log" placeholder:"FILE" help:"Send the bearer token in this file with decision logs."`
	DecisionLogBuffer   Bytes  `yaml:"decision_log_buffer" group:"Decision log" help:"Hold decisions of this size in memory. Default 64MiB."`
	DecisionLogSpool    string `yaml:"decision_log_spool" group:"Decision log" placeholder:"DIR" help:"Keep decisions in this directory until they are delivered."`
	DecisionLogSpoolMax Bytes  `yaml:"decision_log_spool_max" group:"Decision log" help:"Keep decisions of this size on disk. Default 1GiB."`
	DecisionLogFileMax  Bytes  `yaml:"decision_log_file_max" group:"Decision log" help:"Begin a new decision log file at this size. Default 100MiB."`
	DecisionLogFiles    int    `yaml:"decision_log_files" group:"Decision log" placeholder:"N" help:"Keep so many full decision log files. Default 5."`
	// Shadow are rules that are tried beside those of Policy; they decide nothing.
	Shadow []string `yaml:"shadow" group:"Policies" placeholder:"PATH" help:"Try the rules of this directory or bundle instead of those of --policy, without effect; repeatable."`

	// LogLevel is debug, info, warn or error; info has a line per request. LogFormat is json or text.
	LogLevel  string `yaml:"log_level" group:"Logs and traces" placeholder:"LEVEL" help:"Log from this level: debug, info, warn or error. Default info."`
	LogFormat string `yaml:"log_format" group:"Logs and traces" placeholder:"FORMAT" help:"Log as json or text. Default json."`

	// MaxBody limits one request body, MaxBodies all that are held at once, MaxHeader the headers of a request.
	MaxBody   Bytes `yaml:"max_body" group:"Limits" help:"Refuse larger request bodies. Default 8MiB."`
	MaxBodies Bytes `yaml:"max_bodies" group:"Limits" help:"Refuse requests while bodies of this size are held. Default 64MiB."`
	MaxHeader Bytes `yaml:"max_header" group:"Limits" help:"Refuse larger request headers. Default 16KiB."`
	// MaxRequests are in work or waiting for their turn; what comes on top is refused. MaxConnections are open at once;
	// what comes on top waits in the kernel.
	MaxRequests    int `yaml:"max_requests" group:"Limits" placeholder:"N" help:"Refuse requests while so many are in work or waiting. Default 512."`
	MaxConnections int `yaml:"max_connections" group:"Limits" placeholder:"N" help:"Accept so many connections per address. Default 16384."`
	// MemoryLimit is what the process should hold at most; the collector works harder near it. Default 80% of the memory
	// limit of the cgroup, or 800MiB where there is none. GOMEMLIMIT wins.
	MemoryLimit Bytes `yaml:"memory_limit" group:"Limits" help:"Try to hold no more memory. Default 80% of the cgroup's limit, else 800MiB."`
	// MaxWaiting are workers whose report or probe is being taken or waits for the others. One costs about 40 KiB, with its connection.
	MaxWaiting int `yaml:"max_waiting" group:"Limits" placeholder:"N" help:"Refuse workers while so many wait for others. Default 16384."`

	// ReadHeaderTimeout and ReadTimeout run from the start of a request, the second until its body is complete.
	// DecisionTimeout runs from there and covers the wait for a turn. WriteTimeout covers both and the answer.
	ReadHeaderTimeout time.Duration `yaml:"read_header_timeout" group:"Times" help:"Wait so long for request headers. Default 5s."`
	ReadTimeout       time.Duration `yaml:"read_timeout" group:"Times" help:"Wait so long for a whole request. Default 10s."`
	DecisionTimeout   time.Duration `yaml:"decision_timeout" group:"Times" help:"Give a decision so long, with its wait. Default 5s."`
	WriteTimeout      time.Duration `yaml:"write_timeout" group:"Times" help:"Wait so long until an answer is taken. Default 30s."`
	IdleTimeout       time.Duration `yaml:"idle_timeout" group:"Times" help:"Keep idle connections so long. Default 1m0s."`
	// Traces is where spans go, in OTLP over HTTP; without it there are none. TraceRatio is the share of requests that begin
	// a trace of their own; those that continue a caller's trace do as it says.
	Traces     string  `yaml:"traces" group:"Logs and traces" placeholder:"URL" help:"Send traces to this OTLP http(s) URL."`
	TraceRatio float64 `yaml:"trace_ratio" group:"Logs and traces" placeholder:"SHARE" help:"Trace this share of the requests that no caller traces. Default 1."`
	// Pprof serves Go's profiles on the diagnostic address.
	Pprof bool `yaml:"pprof" group:"Logs and traces" help:"Serve profiles of the process on the diagnostic address."`

	// DrainDelay is how long the service still takes requests after it reports that it is not ready, so that load balancers
	// hear of it first. ShutdownTimeout is how long requests under way may take after that.
	DrainDelay      time.Duration `yaml:"drain_delay" group:"Times" help:"Go on so long after reporting not ready at the end. No delay without it."`
	ShutdownTimeout time.Duration `yaml:"shutdown_timeout" group:"Times" help:"Give open requests so long at the end. Default 10s."`
}

// SetDefaults fills in what is zero.
func (s *Serve) SetDefaults() {
	s.fill(&Serve{
		Addr:            []string{"127.0.0.1:8642"},
		PolicyPoll:      10 * time.Second,
		VerificationAlg: "RS256", TraceRatio: 1,
		NATSReplicas: 3, KeepAttempts: 15 * time.Minute,
		DecisionLogBuffer: 64 << 20, DecisionLogSpoolMax: 1 << 30, DecisionLogFileMax: 100 << 20, DecisionLogFiles: 5,
		LogLevel: "info", LogFormat: "json",
		MaxBody: 8 << 20, MaxBodies: 64 << 20, MaxHeader: 16 << 10,
		MaxRequests: 512, MaxConnections: 16384, MaxWaiting: 16384,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		DecisionTimeout:   5 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		ShutdownTimeout:   10 * time.Second,
	})
}
