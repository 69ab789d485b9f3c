import { describe, expect, it } from 'vitest';
import { parseLabArguments } from './arguments.ts';

const known = { hosts: ['old', 'new'], rows: ['boot', 'create'] };

describe('the arguments of the lab', () => {
  it('choose every host and row when they name none', () => {
    expect(parseLabArguments([], known)).toEqual({
      only: [],
      rows: [],
      skip: [],
      short: false,
      keep: false,
      write: false,
      patience: 1,
    });
  });

  it('may repeat a flag, or list names with commas', () => {
    const found = parseLabArguments(['--row', 'boot', '--row', 'create', '--skip', 'boot,create'], known);
    expect(found.rows).toEqual(['boot', 'create']);
    expect(found.skip).toEqual(['boot', 'create']);
  });

  it('are refused with the known names when one is unknown', () => {
    expect(() => parseLabArguments(['--only', 'debian1'], known)).toThrow(
      '--only takes old, new; got debian1',
    );
    expect(() => parseLabArguments(['--row', 'none'], known)).toThrow('--row takes boot, create; got none');
  });

  it('are refused when the patience is not a positive number', () => {
    expect(() => parseLabArguments(['--patience', 'much'], known)).toThrow('--patience');
    expect(() => parseLabArguments(['--patience', '0'], known)).toThrow('--patience');
  });

  it('are refused when they contradict each other', () => {
    expect(() => parseLabArguments(['--short', '--row', 'boot'], known)).toThrow('--short');
    expect(() => parseLabArguments(['--short', '--only', 'old,new'], known)).toThrow('--short');
    expect(() => parseLabArguments(['--keep'], known)).toThrow('--keep');
  });
});
