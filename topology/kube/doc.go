// Package kube reads Kubernetes manifests: it finds the containers that start a vLLM engine and says of each engine how
// it is launched, with the pods that it gets as nodes. It owns the shapes of the objects that create pods, the
// environment and /dev/shm that the kubelet gives a container, and how many pods an engine takes. It asks no cluster,
// reads no file, and leaves commands as they are: what they mean is known to package vllm.
//
// Objects are read leniently. Only the fields that decide something are looked at, so that manifests of newer versions,
// and those that the API server completes, can still be read. The types of k8s.io/api are not used for that reason, and
// because they bring some seventy packages for about thirty fields.
package kube
