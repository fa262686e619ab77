package main

import (
	"context"

	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// The programs of a node, for tests that need containers to run. Linux only, as are the containers.
func init() {
	programs["kubelet"] = func() { serve(kubelet.NewKubeletCommand(context.Background())) }
	programs["kube-proxy"] = func() { serve(proxy.NewProxyCommand()) }
}
