import {
  type NetlinkRequest,
  toAddress,
  toAttribute,
  toText,
  toUint8,
  toUint32,
} from '../kernel/netlink-message.ts';

// linux/rtnetlink.h, linux/if_link.h, linux/veth.h, linux/if_addr.h, linux/if.h
const RTM_NEWLINK = 16;
const RTM_DELLINK = 17;
const RTM_NEWADDR = 20;
const RTM_NEWROUTE = 24;
const IFLA_IFNAME = 3;
const IFLA_LINKINFO = 18;
const IFLA_AF_SPEC = 26;
const IFLA_NET_NS_FD = 28;
const IFLA_INFO_KIND = 1;
const IFLA_INFO_DATA = 2;
const VETH_INFO_PEER = 1;
const IFLA_INET6_ADDR_GEN_MODE = 8;
const IN6_ADDR_GEN_MODE_NONE = 1;
const IFA_ADDRESS = 1;
const IFA_LOCAL = 2;
const RTA_DST = 1;
const RTA_OIF = 4;
const RTA_GATEWAY = 5;
const RT_TABLE_MAIN = 254;
const RTPROT_STATIC = 4;
const RT_SCOPE_LINK = 253;
const RTN_UNICAST = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const IFF_UP = 1;

/** The index of loopback in every network namespace. */
export const loopbackIndex = 1;

/** The name of the link's end inside the sandbox. */
export const guestInterface = 'eth0';

/** Creates a link with one end here and the other in the namespace that is open as `namespaceFd`. */
export const createLink = (name: string, namespaceFd: number): NetlinkRequest => ({
  type: RTM_NEWLINK,
  does: 'create',
  fixed: toLinkHeader({ index: 0 }),
  attributes: [
    toAttribute(IFLA_IFNAME, toText(name)),
    toAttribute(
      IFLA_LINKINFO,
      toAttribute(IFLA_INFO_KIND, toText('veth')),
      toAttribute(
        IFLA_INFO_DATA,
        toAttribute(
          VETH_INFO_PEER,
          toLinkHeader({ index: 0 }),
          toAttribute(IFLA_IFNAME, toText(guestInterface)),
          toAttribute(IFLA_NET_NS_FD, toUint32(namespaceFd)),
        ),
      ),
    ),
  ],
});

export const deleteLink = (name: string): NetlinkRequest => ({
  type: RTM_DELLINK,
  fixed: toLinkHeader({ index: 0 }),
  attributes: [toAttribute(IFLA_IFNAME, toText(name))],
});

export const bringUp = (index: number): NetlinkRequest => ({
  type: RTM_NEWLINK,
  fixed: toLinkHeader({ index, up: true }),
  attributes: [],
});

/** Otherwise an interface assigns itself an IPv6 address as soon as it is up, and accepts more from the other end. */
export const withoutIpv6 = (index: number): NetlinkRequest => ({
  type: RTM_NEWLINK,
  fixed: toLinkHeader({ index }),
  attributes: [
    toAttribute(
      IFLA_AF_SPEC,
      toAttribute(AF_INET6, toAttribute(IFLA_INET6_ADDR_GEN_MODE, toUint8(IN6_ADDR_GEN_MODE_NONE))),
    ),
  ],
});

/** Adds an address of this interface alone; the route to the other end is separate. */
export function addAddress(index: number, own: string): NetlinkRequest {
  const fixed = Buffer.alloc(8);
  fixed.writeUInt8(AF_INET, 0);
  fixed.writeUInt8(32, 1);
  fixed.writeUInt32LE(index, 4);
  return {
    type: RTM_NEWADDR,
    does: 'create',
    fixed,
    attributes: [toAttribute(IFA_LOCAL, toAddress(own)), toAttribute(IFA_ADDRESS, toAddress(own))],
  };
}

/** Adds a route to the other end, directly behind this interface. */
export function addLinkRoute(index: number, other: string): NetlinkRequest {
  const fixed = Buffer.from([
    ...[AF_INET, 32, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST],
    ...[0, 0, 0, 0],
  ]);
  return {
    type: RTM_NEWROUTE,
    does: 'create',
    fixed,
    attributes: [toAttribute(RTA_DST, toAddress(other)), toAttribute(RTA_OIF, toUint32(index))],
  };
}

export function addDefaultRoute(index: number, gateway: string): NetlinkRequest {
  const fixed = Buffer.from([AF_INET, 0, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, 0, RTN_UNICAST, 0, 0, 0, 0]);
  return {
    type: RTM_NEWROUTE,
    does: 'create',
    fixed,
    attributes: [toAttribute(RTA_GATEWAY, toAddress(gateway)), toAttribute(RTA_OIF, toUint32(index))],
  };
}

/** struct ifinfomsg */
function toLinkHeader({ index, up = false }: { index: number; up?: boolean }): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeInt32LE(index, 4);
  bytes.writeUInt32LE(up ? IFF_UP : 0, 8);
  bytes.writeUInt32LE(up ? IFF_UP : 0, 12);
  return bytes;
}
