import { describe, expect, it } from 'vitest';
import type { TreeProcess } from '../processes/process-tree.ts';
import { requireSessions } from './require-sessions.ts';

const toProcess = ([pid, parent, session]: [number, number, number]): TreeProcess => ({
  pid,
  parent,
  session,
  hasEnded: false,
});
const require = (tree: [number, number, number][]) => () => requireSessions(tree.map(toProcess));

describe('sessions', () => {
  it.each<[string, [number, number, number][]]>([
    [
      'of their leaders and of children born in them',
      [
        [1, 0, 1],
        [2, 1, 2],
        [3, 2, 2],
        [4, 3, 4],
        [5, 4, 4],
      ],
    ],
    [
      'of orphans whose leader has ended',
      [
        [1, 0, 1],
        [2, 1, 9],
        [3, 2, 9],
        [4, 2, 4],
      ],
    ],
    [
      'of orphans whose leader is alive',
      [
        [1, 0, 1],
        [2, 1, 2],
        [3, 2, 3],
        [4, 1, 3],
        [5, 4, 3],
      ],
    ],
    [
      'of children that were born before their parent led its own',
      [
        [1, 0, 1],
        [2, 1, 2],
        [3, 2, 3],
        [4, 3, 2],
      ],
    ],
  ])('can be made again: %s', (_, tree) => {
    expect(require(tree)).not.toThrow();
  });

  it.each<[string, [number, number, number][]]>([
    [
      'an orphan that was reparented to another process than the first',
      [
        [1, 0, 1],
        [2, 1, 2],
        [3, 2, 3],
        [4, 2, 3],
      ],
    ],
    [
      'a parent with children of two sessions that it has left',
      [
        [1, 0, 1],
        [2, 1, 2],
        [3, 2, 3],
        [4, 3, 4],
        [5, 4, 2],
        [6, 4, 3],
      ],
    ],
  ])('are refused: %s', (_, tree) => {
    expect(require(tree)).toThrow(expect.objectContaining({ code: 'blocked' }));
  });
});
