import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type create, type DescFile, fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type * as Filesystem from '@skerry/envd-client/filesystem';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { literalDescriptors } from './literal-descriptors.ts';
import { pureEnums, toPureEnums } from './pure-enums.ts';
import { withoutExtensions } from './without-extensions.ts';

const folder = mkdtempSync(join(tmpdir(), 'skerry-lean-'));
const root = join(import.meta.dirname, '../..');
const source = join(root, 'packages/envd-client/src/gen/filesystem/filesystem_pb.ts');
const entry = `export * from '${source}';
export { create, fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf';`;

type Bundled = typeof Filesystem & {
  create: typeof create;
  fromJson: typeof fromJson;
  toJson: typeof toJson;
  fromBinary: typeof fromBinary;
  toBinary: typeof toBinary;
};
let bundled: Bundled;
let original: typeof Filesystem;
let code = '';

beforeAll(async () => {
  const input = join(root, 'bundling/workarounds/entry.js');
  const bundle = await rolldown({
    input,
    platform: 'neutral',
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === input ? id : null),
        load: (id) => (id === input ? entry : null),
      },
      pureEnums(),
      withoutExtensions(),
      literalDescriptors(),
    ],
  });
  const file = join(folder, 'bundle.mjs');
  code = (await bundle.generate({ format: 'esm' })).output[0].code;
  await bundle.close();
  writeFileSync(file, code);
  bundled = (await import(file)) as Bundled;
  original = (await import(source)) as typeof Filesystem;
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('the plugins that make a client lean', () => {
  it('write descriptors that are the same messages as the generated ones', () => {
    const plain = ({ proto }: DescFile) => toBinary(FileDescriptorProtoSchema, proto);
    const read = fromBinary(FileDescriptorProtoSchema, plain(bundled.file_filesystem_filesystem));
    const expected = fromBinary(FileDescriptorProtoSchema, plain(original.file_filesystem_filesystem));
    // A field without a label is optional, so a label that says so is not written.
    expect(toJson(FileDescriptorProtoSchema, read)).toEqual(
      JSON.parse(
        JSON.stringify(toJson(FileDescriptorProtoSchema, expected)).replaceAll(
          '"label":"LABEL_OPTIONAL",',
          '',
        ),
      ),
    );
  });

  it('read and write JSON and binary as before, with optional fields, 64-bit numbers, maps and timestamps', () => {
    const json = {
      entry: {
        name: 'a',
        path: '/a',
        size: '9007199254740993',
        modifiedTime: '2026-01-02T03:04:05Z',
        symlinkTarget: '',
      },
    };
    const { StatResponseSchema } = bundled;
    const message = bundled.fromJson(StatResponseSchema, json);
    expect(bundled.toJson(StatResponseSchema, message)).toEqual(json);
    const bytes = bundled.toBinary(StatResponseSchema, message);
    expect(bytes).toEqual(toBinary(original.StatResponseSchema, fromJson(original.StatResponseSchema, json)));
    expect(bundled.toJson(StatResponseSchema, bundled.fromBinary(StatResponseSchema, bytes))).toEqual(json);
    expect(bundled.create(StatResponseSchema).entry).toBeUndefined();
  });

  it('leave out the schema of descriptors, extensions and the enums that nothing uses', () => {
    expect(code).not.toContain('google.protobuf.FieldOptions.EditionDefault"');
    expect(code).not.toContain('FeatureSet_EnforceNamingStyle');
    expect(code).toContain('built without extensions');
  });

  it('keep the values of an enum', async () => {
    const text = toPureEnums(`export var Code;
(function (Code) {
    /** A comment } */
    Code[Code["A"] = 1] = "A";
})(Code || (Code = {}));
`);
    expect(text).toContain('/*@__PURE__*/');
    writeFileSync(join(folder, 'enum.mjs'), text);
    expect(await import(join(folder, 'enum.mjs'))).toMatchObject({ Code: { 1: 'A', A: 1 } });
  });
});
