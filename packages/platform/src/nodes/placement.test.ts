import { describe, expect, it } from 'vitest';
import { type Candidate, noPlace, rankPlaces } from './placement.ts';

const node = (name: string, more: Partial<Candidate> = {}): Candidate => ({
  name,
  obstacle: undefined,
  room: { sandboxes: 10, memoryMb: 10_000 },
  ...more,
});
const load = (name: string, memoryMb: number, placed = 1) => ({
  name,
  placed,
  memoryMb,
  others: 0,
  snapshots: 0,
});
const anywhere = { memoryMb: 1_000, node: null };

describe('placement', () => {
  it('prefers the node with the least share of its memory reserved, then the first by name', () => {
    const nodes = [node('c'), node('a'), node('b', { room: { sandboxes: 5, memoryMb: 40_000 } })];
    const { places } = rankPlaces(nodes, [load('a', 2_000), load('b', 4_000), load('c', 2_000)], anywhere);
    expect(places).toMatchObject([
      {
        node: 'b',
        maxActive: 5,
        reason: 'its memory is reserved least: b 13 % with the sandbox, a 30 %, c 30 %',
      },
      { node: 'a', maxActive: 10 },
      { node: 'c', maxActive: 10 },
    ]);
  });

  it('begins with the node that has what others lack, until its memory is all reserved', () => {
    const [nodes, request] = [[node('a'), node('b')], { ...anywhere, prefers: 'b' }];
    const best = (reservedMb: number) => rankPlaces(nodes, [load('b', reservedMb)], request).places[0];
    expect(best(9_000)?.reason).toBe(
      'the checkpoint of its template is there: b 100 % with the sandbox, a 10 %',
    );
    expect(best(9_001)?.node).toBe('a');
  });

  it('leaves out nodes that cannot take a sandbox, are full or had no capacity, and says which', () => {
    const nodes = [node('a', { obstacle: 'is cordoned' }), node('b'), node('c'), node('d')];
    const { places, obstacles } = rankPlaces(nodes, [load('b', 0, 10)], { ...anywhere, without: ['c'] });
    const reason =
      'its memory is reserved least: d 10 % with the sandbox, a is cordoned, b is full, c has no capacity';
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
