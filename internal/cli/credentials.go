package cli

import "github.com/tiergate/tiergate/runtime/credentials"

// credentialFlags are what a service is shown, and whom it is believed by.
type credentialFlags struct {
	TokenFile string `placeholder:"FILE" help:"Show the service the bearer token in this file."`
	CA        string `name:"ca" placeholder:"FILE" help:"Believe a service whose certificate this PEM file vouches for."`
	Cert      string `placeholder:"FILE" help:"Show the service the client certificate in this PEM file."`
	Key       string `placeholder:"FILE" help:"Take the key of the client certificate from this PEM file."`
}

func (f *credentialFlags) files() credentials.Files {
	return credentials.Files{Token: f.TokenFile, CA: f.CA, Cert: f.Cert, Key: f.Key}
}
