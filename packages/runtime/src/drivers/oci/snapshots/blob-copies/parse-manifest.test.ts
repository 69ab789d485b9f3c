import { expect, it } from 'vitest';
import { toBaseUid } from '../../../../network/slots.ts';
import type { CopyManifest } from './copy-manifest.ts';
import { parseCopyManifest } from './parse-manifest.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const sha256 = 'b'.repeat(64);
const part = { offset: 0, sizeBytes: 4096, sha256, storedBytes: 20 };
const file = { sizeBytes: 8192, parts: [part] };
const manifest: CopyManifest = {
  version: 1,
  snapshot: 's1',
  contents: { sandbox: 'i1', diskBaseId: toBaseUid(3), diskBytes: 8192 },
  templateDigest: digest,
  disk: { ...file, sha256 },
  list: { ...file, sha256, entryCount: 0 },
  memory: {
    class: {
      cpuVendor: 'v',
      cpuFamily: '6',
      cpuModel: 'm x',
      cpuFlags: ['fpu', 'sse'],
      kernelRelease: '6.1',
      checkpointer: 'criu 4.2',
      cgroupVersion: 'hybrid',
      level: 'container',
      templateDigest: digest,
      agentDigest: digest,
    },
    checkpoint: { hostBootId: `${'0'.repeat(36)}\n`, livenessPipeId: 'file[1a:2]', needsNetwork: false },
    usernsName: 'userns-9.img',
    fingerprints: { key: 'c'.repeat(32), macs: { 'pages-1.img': 'd'.repeat(32) } },
    files: [{ ...file, name: 'pages-1.img' }],
  },
};
const memory = manifest.memory as NonNullable<CopyManifest['memory']>;
const withMemory = (more: object) => ({ ...manifest, memory: { ...memory, ...more } });

it('is read as it was written, with memory and without', () => {
  expect(parseCopyManifest(JSON.stringify(manifest))).toEqual(manifest);
  const { memory: _memory, list: _list, ...files } = manifest;
  const gvisor = { ...files, contents: { ...files.contents, parent: 's0', level: 'gvisor' as const } };
  for (const one of [files, gvisor]) expect(parseCopyManifest(JSON.stringify(one))).toEqual(one);
});

it.each<[string, object | string]>([
  ['the manifest is not JSON', '{'],
  ['cannot be true', '[]'],
  ['cannot be true', { ...manifest, extra: 1 }],
  ['it has the version 2', { ...manifest, version: 2 }],
  ['snapshot must be 1 to 40 of a-z and 0-9', { ...manifest, snapshot: '../x' }],
  ['contents is missing', { ...manifest, contents: undefined }],
  ['contents.parent must be 1 to 40', { ...manifest, contents: { ...manifest.contents, parent: '' } }],
  ['contents.level must be gvisor', { ...manifest, contents: { ...manifest.contents, level: 'container' } }],
  ['no sandbox has the owner 0', { ...manifest, contents: { ...manifest.contents, diskBaseId: 0 } }],
  [
    'its disk has 8192 bytes and not 9000',
    { ...manifest, contents: { ...manifest.contents, diskBytes: 9000 } },
  ],
  ['disk.sizeBytes must be a whole number', { ...manifest, disk: { ...manifest.disk, sizeBytes: 1.5 } }],
  ['disk.sizeBytes must be a whole number', { ...manifest, disk: { ...manifest.disk, sizeBytes: -1 } }],
  [
    'disk.parts[0].sizeBytes must be',
    { ...manifest, disk: { ...manifest.disk, parts: [{ ...part, sizeBytes: 0 }] } },
  ],
  ['a part has 1.5 bytes', { ...manifest, disk: { ...manifest.disk, parts: [{ ...part, sizeBytes: 1.5 }] } }],
  ['overlap', { ...manifest, disk: { ...manifest.disk, parts: [part, part] } }],
  [
    'larger than its content',
    { ...manifest, disk: { ...manifest.disk, parts: [{ ...part, storedBytes: 2 ** 20 }] } },
  ],
  [
    'more than its 8192 bytes',
    { ...manifest, disk: { ...manifest.disk, parts: [{ ...part, offset: 8000 }] } },
  ],
  ['disk.sha256 must be 64 hex digits', { ...manifest, disk: { ...manifest.disk, sha256: `${sha256}\n` } }],
  ['memory.files[0].name must be', withMemory({ files: [{ ...file, name: '../x.img' }] })],
  ['one name', withMemory({ files: [...memory.files, ...memory.files] })],
  ['has no fingerprint', withMemory({ fingerprints: { ...memory.fingerprints, macs: {} } })],
  [
    'memory.fingerprints.macs.pages-1.img must be 32 hex digits',
    withMemory({ fingerprints: { ...memory.fingerprints, macs: { 'pages-1.img': 'x' } } }),
  ],
  ['level is "moat"', withMemory({ class: { ...memory.class, level: 'moat' } })],
  [
    'memory.class.cgroupVersion must be 1, 2 or hybrid',
    withMemory({ class: { ...memory.class, cgroupVersion: '3' } }),
  ],
  ['memory.class.cpuFlags[1] must be', withMemory({ class: { ...memory.class, cpuFlags: ['fpu', ' '] } })],
  [
    'memory.checkpoint.livenessPipeId must be',
    withMemory({ checkpoint: { ...memory.checkpoint, livenessPipeId: 'file[1:2] --x' } }),
  ],
])('is refused with what cannot be true: %s', (problem, value) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const parse = () => parseCopyManifest(text);
  expect(parse).toThrow(problem);
  expect(parse).toThrow(expect.objectContaining({ code: 'damaged' }));
});
