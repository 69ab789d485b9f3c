import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeRows } from './report.ts';
import { toRow, toUnmeasuredRow } from './row.ts';

it('writes the rows of a run as a JSON array, with reference and ratio if there are any', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rows-'));
  const path = join(folder, 'rows.json');
  writeRows(path, [
    toRow({
      ...{ name: 'a', unit: 'ms', samples: [2, 4, 6] },
      reference: { name: 'bare', samples: [2] },
      bound: { of: 'ratio', atMost: 3 },
    }),
    toUnmeasuredRow({ name: 'b', unit: 'ms', reason: 'no docker' }),
  ]);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual([
    { name: 'a', unit: 'ms', p50: 4, p95: 6, n: 3, reference: 'bare 2 ms', ratio: 2 },
    { name: 'b', unit: 'ms', p50: null, p95: null, n: 0 },
  ]);
  rmSync(folder, { recursive: true });
});
