import { describe, expect, it } from 'vitest';
import type { StartCommands } from '../../store/build-rows.ts';
import { type BuildPlan, noStartCommand } from '../build-plan.ts';
import { type ImageCommand, inheritStart } from './inherit-start.ts';

const position = { user: 'worker', workdir: '/srv', env: { A: 'b' } };
const inherited = { startCmd: 'serve', readyCmd: 'check', user: 'user', workdir: '/home/user', env: {} };
const noCommand = { entrypoint: [], command: [], healthcheck: [], exposedPorts: [] };
const inherit = (
  own: Partial<Omit<BuildPlan, 'stages'>>,
  from: StartCommands | null = inherited,
  image: ImageCommand = noCommand,
) =>
  inheritStart(
    { ...noStartCommand, ...own },
    { position: { ...position, buildArgs: { SECRET: 's' } }, inherited: from, image },
  );

describe('inheritStart', () => {
  it('keeps the commands of the base where they run', () => {
    expect(inherit({})).toEqual(inherited);
    expect(inherit({}, null)).toBeNull();
  });

  it('replaces both by a start command of its own', () => {
    expect(inherit({ startCmd: 'own' })).toEqual({ startCmd: 'own', readyCmd: null, ...position });
    expect(inherit({ startCmd: 'own', readyCmd: 'ready' })).toEqual({
      startCmd: 'own',
      readyCmd: 'ready',
      ...position,
    });
  });

  it('joins the words of its own with those of the image as container tools do', () => {
    const image = { ...noCommand, entrypoint: ['enter', 'in'], command: ['serve', 'a b'] };
    const words = (own: Parameters<typeof inherit>[0]) => inherit(own, null, image)?.startWords;
    expect(words({})).toEqual(['enter', 'in', 'serve', 'a b']);
    expect(words({ command: ['own'] })).toEqual(['enter', 'in', 'own']);
    expect(words({ entrypoint: ['own'] })).toEqual(['own']);
    expect(words({ entrypoint: [], command: ['own'] })).toEqual(['own']);
    expect(inherit({ entrypoint: [] }, null, image)).toBeNull();
    expect(inherit({ healthcheck: ['test', '-e', '/a'] }, null, image)).toEqual({
      startCmd: 'enter in serve "a b"',
      startWords: ['enter', 'in', 'serve', 'a b'],
      readyCmd: 'test -e /a',
      readyWords: ['test', '-e', '/a'],
      ...position,
    });
    expect(inherit({ startCmd: 'own' }, null, image)).toEqual({
      startCmd: 'own',
      readyCmd: null,
      ...position,
    });
  });

  it('checks as the image does what has words of the image, unless the build says otherwise', () => {
    const image = { ...noCommand, entrypoint: ['enter'], command: ['serve'], healthcheck: ['check', 'a b'] };
    const ready = (own: Parameters<typeof inherit>[0], from = image) => inherit(own, null, from)?.readyWords;
    for (const own of [{}, { command: ['own'] }]) expect(ready(own)).toEqual(['check', 'a b']);
    expect(ready({ healthcheck: ['own'] })).toEqual(['own']);
    for (const own of [
      { healthcheck: [] },
      { entrypoint: ['own'] },
      { startCmd: 'own' },
      { readyCmd: 'own' },
    ])
      expect(ready(own)).toBeUndefined();
    expect(ready({ command: ['own'] }, { ...image, entrypoint: [] })).toBeUndefined();
    expect(inherit({}, null, { ...noCommand, healthcheck: ['check'] })).toBeNull();
  });

  it('has its ports and those of an image whose words it has, each once, where nothing checks it', () => {
    const image = { ...noCommand, entrypoint: ['enter'], command: ['serve'], exposedPorts: [80, 443] };
    const ports = (own: Parameters<typeof inherit>[0], from: ImageCommand = image) =>
      inherit(own, null, from)?.exposedPorts;
    expect(ports({})).toEqual([80, 443]);
    expect(ports({ command: ['own'], exposedPorts: [443, 8000] })).toEqual([443, 8000, 80]);
    for (const own of [{ entrypoint: ['own'] }, { startCmd: 'own' }]) {
      expect(ports(own)).toBeUndefined();
      expect(ports({ ...own, exposedPorts: [8000] })).toEqual([8000]);
    }
    expect(ports({ readyCmd: 'own' })).toBeUndefined();
    expect(ports({ healthcheck: [] })).toEqual([80, 443]);
    expect(ports({}, { ...image, healthcheck: ['check'] })).toBeUndefined();
    expect(inherit({ exposedPorts: [80] }, null)).toBeNull();
    expect(inherit({ readyCmd: 'ready' }, { ...inherited, readyCmd: null, exposedPorts: [80] })).toEqual({
      ...inherited,
      readyCmd: 'ready',
    });
  });

  it('replaces only the check by a check of its own', () => {
    expect(inherit({ readyCmd: 'ready' })).toEqual({ ...inherited, readyCmd: 'ready' });
    expect(inherit({ readyCmd: 'ready' }, null)).toEqual({ startCmd: null, readyCmd: 'ready', ...position });
  });
});
