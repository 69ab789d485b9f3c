import { describe, expect, it } from 'vitest';
import { noPlace } from './placement.ts';
import { type Candidate, rankPlaces } from './rank-places.ts';

const node = (name: string, more: Partial<Candidate> = {}): Candidate => ({
  name,
  obstacle: undefined,
  room: { sandboxes: 10, memoryMb: 10_000 },
  usedMemoryMb: 0,
  ...more,
});
const load = (name: string, memoryMb: number, placed = 1) => ({
  name,
  placed,
  memoryMb,
  others: 0,
  snapshots: 0,
});
const anywhere = { memoryMb: 1_000, isolation: 'container' as const, node: null };

describe('placement', () => {
  it('prefers the node with the least share of its memory reserved, then the first by name', () => {
    const nodes = [node('c'), node('a'), node('b', { room: { sandboxes: 5, memoryMb: 40_000 } })];
    const { places } = rankPlaces(nodes, [load('a', 2_000), load('b', 4_000), load('c', 2_000)], anywhere);
    expect(places).toMatchObject([
      {
        node: 'b',
        maxActive: 5,
        reason: 'its memory is taken least: b 13 % with the sandbox, a 30 %, c 30 %',
      },
      { node: 'a', maxActive: 10 },
      { node: 'c', maxActive: 10 },
    ]);
  });

  it('counts half of what the machine uses, by whatever program', () => {
    const nodes = [node('a', { usedMemoryMb: 5_000 }), node('b')];
    const best = (reservedMb: number) => rankPlaces(nodes, [load('b', reservedMb)], anywhere).places[0];
    expect(best(2_400)?.reason).toBe('its memory is taken least: b 34 % with the sandbox, a 35 %');
    expect(best(2_600)?.node).toBe('a');
  });

  it('compares three of many, in which the best need not be, and goes on with the others when these are full', () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const loads = names.map((name, index) => load(name, 1_000 * index));
    // The last of those that are left, three times: e, d and c.
    const { places } = rankPlaces(
      names.map((name) => node(name)),
      loads,
      anywhere,
      () => 0.99,
    );
    expect(places.map((place) => place.node)).toEqual(['c', 'd', 'e', 'a', 'b']);
    expect(places[0]?.reason).toBe('its memory is taken least: c 30 % with the sandbox, d 40 %, e 50 %');
    const chosen = new Set<string>();
    for (let count = 0; count < 500; count += 1)
      chosen.add(
        rankPlaces(
          names.map((name) => node(name)),
          loads,
          anywhere,
        ).places[0]?.node ?? 'none',
      );
    // One of any three has less than the two that have most.
    expect([...chosen].toSorted()).toEqual(['a', 'b', 'c']);
  });

  it('begins with the nodes that have what others lack, until their memory is all taken', () => {
    const prefers = { nodes: () => ['b', 'c'], because: 'it is ready there' };
    const [nodes, request] = [[node('a'), node('b'), node('c')], { ...anywhere, prefers }];
    const rank = (reservedMb: number) =>
      rankPlaces(nodes, [load('b', reservedMb), load('c', 9_100)], request).places;
    expect(rank(9_000)[0]?.reason).toBe('it is ready there: b 100 % with the sandbox, a 10 %, c 101 %');
    expect(rank(9_001).map((place) => place.node)).toEqual(['a', 'b', 'c']);
    const [first, second] = rankPlaces(nodes, [load('b', 2_000), load('c', 1_000)], request).places;
    expect([first?.node, second?.node]).toEqual(['c', 'b']);
  });

  it('leaves out nodes that cannot take a sandbox, are full or had no capacity, and says which', () => {
    const nodes = [node('a', { obstacle: 'is cordoned' }), node('b'), node('c'), node('d')];
    const { places, obstacles } = rankPlaces(nodes, [load('b', 0, 10)], { ...anywhere, without: ['c'] });
    const reason =
      'its memory is taken least: d 10 % with the sandbox, a is cordoned, b is full, c has no capacity';
    expect(places).toEqual([{ node: 'd', maxActive: 10, reason }]);
    expect(obstacles).toEqual(['a is cordoned', 'b is full', 'c has no capacity']);
  });

  it('goes nowhere else with what is on one node', () => {
    const nodes = [node('a', { obstacle: 'cannot be reached' }), node('b')];
    const request = { ...anywhere, node: 'a' };
    const { places, obstacles } = rankPlaces(nodes, [], request);
    expect(places).toEqual([]);
    expect(noPlace(request, obstacles)).toMatchObject({
      status: 503,
      message: 'what the sandbox begins with is on node "a" only: a cannot be reached',
    });
    expect(noPlace(anywhere, []).message).toBe(
      'no node can take the sandbox now: the server has no such node',
    );
  });
});
