package hosttest

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Kinds of attributes that golang.org/x/sys does not name; see linux/veth.h.
const vethInfoPeer = 1

// route sends one request to the kernel's routing of the calling thread's network namespace and returns its answer.
func route(kind uint16, flags int, body []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	message := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	message = binary.NativeEndian.AppendUint16(message, kind)
	message = binary.NativeEndian.AppendUint16(message, uint16(unix.NLM_F_REQUEST|unix.NLM_F_ACK|flags))
	message = append(message, make([]byte, 8)...) // sequence and port: this socket has one request
	message = append(message, body...)
	if err := unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 1<<12)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	switch {
	case err != nil:
		return err
	case n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR:
		return fmt.Errorf("netlink answered %d bytes that are no acknowledgement", n)
	}
	if errno := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); errno != 0 {
		return unix.Errno(-errno)
	}
	return nil
}

// attribute is one attribute, padded to where the next begins.
func attribute(kind uint16, value ...byte) []byte {
	out := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	out = binary.NativeEndian.AppendUint16(out, kind)
	out = append(out, value...)
	return append(out, make([]byte, -len(out)&3)...)
}

func numberAttribute(kind uint16, value uint32) []byte {
	return attribute(kind, binary.NativeEndian.AppendUint32(nil, value)...)
}

func nameAttribute(kind uint16, name string) []byte {
	return attribute(kind, append([]byte(name), 0)...)
}

// linkHeader is the fixed part of a request about a link; index 0 means that it has none yet.
func linkHeader(index int, flags uint32) []byte {
	out := make([]byte, 4, unix.SizeofIfInfomsg)
	out = binary.NativeEndian.AppendUint32(out, uint32(index))
	out = binary.NativeEndian.AppendUint32(out, flags)
	return binary.NativeEndian.AppendUint32(out, flags) // the flags to change
}

func addBridge(name string) error {
	body := append(linkHeader(0, unix.IFF_UP), nameAttribute(unix.IFLA_IFNAME, name)...)
	// Without an address of its own a bridge takes that of a port, and another one when that port is unplugged.
	body = append(body, attribute(unix.IFLA_ADDRESS, 2, 0, 0, 0, 0, 1)...)
	body = append(body, attribute(unix.IFLA_LINKINFO, nameAttribute(unix.IFLA_INFO_KIND, "bridge")...)...)
	if err := route(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, body); err != nil {
		return fmt.Errorf("add bridge %s: %w", name, err)
	}
	return nil
}

// addCable adds a pair of virtual Ethernet ends: port here, and far in the network namespace of a file descriptor.
func addCable(port, far string, namespace uintptr) error {
	peer := append(linkHeader(0, 0), nameAttribute(unix.IFLA_IFNAME, far)...)
	peer = append(peer, numberAttribute(unix.IFLA_NET_NS_FD, uint32(namespace))...)
	info := nameAttribute(unix.IFLA_INFO_KIND, "veth")
	info = append(info, attribute(unix.IFLA_INFO_DATA, attribute(vethInfoPeer, peer...)...)...)
	body := append(linkHeader(0, unix.IFF_UP), nameAttribute(unix.IFLA_IFNAME, port)...)
	body = append(body, attribute(unix.IFLA_LINKINFO, info...)...)
	if err := route(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, body); err != nil {
		return fmt.Errorf("add cable %s: %w", port, err)
	}
	return nil
}

// plug makes a port part of a bridge; without one it belongs to none, and what it is sent is lost.
func plug(port, bridge string) error {
	p, err := net.InterfaceByName(port)
	if err != nil {
		return err
	}
	master := 0
	if bridge != "" {
		b, err := net.InterfaceByName(bridge)
		if err != nil {
			return err
		}
		master = b.Index
	}
	body := append(linkHeader(p.Index, 0), numberAttribute(unix.IFLA_MASTER, uint32(master))...)
	if err := route(unix.RTM_NEWLINK, 0, body); err != nil {
		return fmt.Errorf("plug %s into %q: %w", port, bridge, err)
	}
	return nil
}

// setUp brings a link up and gives it an address, unless that is the zero prefix.
func setUp(name string, address netip.Prefix) error {
	link, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	if err := route(unix.RTM_NEWLINK, 0, linkHeader(link.Index, unix.IFF_UP)); err != nil {
		return fmt.Errorf("bring %s up: %w", name, err)
	}
	if !address.IsValid() {
		return nil
	}
	body := []byte{unix.AF_INET, byte(address.Bits()), 0, unix.RT_SCOPE_UNIVERSE}
	body = binary.NativeEndian.AppendUint32(body, uint32(link.Index))
	body = append(body, attribute(unix.IFA_LOCAL, address.Addr().AsSlice()...)...)
	body = append(body, attribute(unix.IFA_ADDRESS, address.Addr().AsSlice()...)...)
	if err := route(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, body); err != nil {
		return fmt.Errorf("give %s the address %s: %w", name, address, err)
	}
	return nil
}
