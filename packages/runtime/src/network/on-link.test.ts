import { expect, it } from 'vitest';
import { findOnLinkRanges, findRecentOnLinkRanges, parseOnLinkRoutes } from './on-link.ts';

it('finds the networks that routes lead to without a gateway, but for the links of sandboxes and halves of everything', () => {
  const text = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
eth0\t00640808\t010200C0\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0
tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0
wg0\t07000001\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0
*\t00000B01\t00000000\t0200\t0\t0\t0\t0000FFFF\t0\t0\t0
skv4\t1200C90A\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0
`;
  expect(parseOnLinkRoutes(text)).toEqual(['192.0.2.0/24', '1.0.0.7/32']);
});

it('keeps what it found for calls that follow at once', () => {
  const found = findRecentOnLinkRanges();
  expect(found).toEqual(findOnLinkRanges());
  expect(findRecentOnLinkRanges()).toBe(found);
});
