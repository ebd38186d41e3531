// Package deploy has only tests: they run Tiergate on its own manifests and hold their values against one another. Whether
// the manifests are of Kubernetes' types is tested in the module deploy/test.
package deploy
