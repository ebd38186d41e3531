package config

func (s *Serve) validateTLS(m *mistakes) {
	if (s.TLSCert == "") != (s.TLSKey == "") {
		m.add("tls_cert: a certificate needs tls_cert and tls_key; give both or neither")
	}
	if s.TLSClientCA != "" && s.TLSCert == "" {
		m.add("tls_client_ca: clients show certificates over TLS alone; give tls_cert and tls_key, or leave it out")
	}
	if s.WebhookAddr == "" {
		return
	}
	network, _, err := Endpoint(s.WebhookAddr)
	switch {
	case err != nil:
		m.add("webhook_addr: %w", err)
	case network == "unix":
		m.add("webhook_addr: %q is a socket, which no API server reaches; write host:port, e.g. 0.0.0.0:8643", s.WebhookAddr)
	}
	if s.TLSCert == "" {
		m.add("webhook_addr: API servers call webhooks over TLS alone; give tls_cert and tls_key")
	}
}
