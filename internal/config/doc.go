// Package config holds the settings of `tiergate serve`. A field of Serve is at once a flag, a TIERGATE_* variable and
// a key of the configuration file, all of one name. The package owns names, defaults and limits; it must not open what
// they point to, neither listeners nor policies.
package config
