import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { type Document, parseDocument } from 'yaml';
import { compareDocuments, compareProtos, findUnnamed } from './breaking-changes.ts';

const folder = mkdtempSync(join(tmpdir(), 'skerry-breaking-'));
const specs = join(import.meta.dirname, '../../specs');
const document = join(specs, 'openapi.yaml');
afterAll(() => rmSync(folder, { recursive: true }));

/** The names of the breaking changes of the document after an edit. */
function afterEdit(edit: (copy: Document) => void): string[] {
  const copy = parseDocument(readFileSync(document, 'utf8'));
  edit(copy);
  const revision = join(folder, 'openapi.yaml');
  writeFileSync(revision, String(copy));
  return compareDocuments(document, revision).map(({ name }) => name);
}

const since = { name: 'since', in: 'query', schema: { type: 'string' } };
const schemas = (...rest: string[]) => ['components', 'schemas', ...rest];
const create = (...rest: string[]) => schemas('NewSandboxCommon', ...rest);

/** The names of the breaking changes of the protocol buffers after replacements in `process.proto`. */
function afterReplacing(...replacements: [from: string, to: string][]): string[] {
  const revision = join(folder, 'protos');
  rmSync(revision, { recursive: true, force: true });
  mkdirSync(revision);
  for (const part of ['buf.yaml', 'process', 'filesystem'])
    cpSync(join(specs, part), join(revision, part), { recursive: true });
  const file = join(revision, 'process/process.proto');
  let text = readFileSync(file, 'utf8');
  for (const [from, to] of replacements) {
    if (!text.includes(from)) throw new Error(`process.proto has no ${from}`);
    text = text.replace(from, to);
  }
  writeFileSync(file, text);
  return compareProtos(specs, revision).map(({ name }) => name);
}

it('finds each kind of change of the document that a client does not survive', () => {
  const found = afterEdit((copy) => {
    copy.deleteIn(['paths', '/sandboxes/{sandboxID}/refreshes']);
    copy.deleteIn(['paths', '/sandboxes/{sandboxID}', 'delete']);
    copy.addIn(create('required'), 'metadata');
    copy.deleteIn(schemas('ErrorBody', 'properties', 'error_code'));
    copy.setIn(schemas('ErrorBody', 'properties', 'code', 'type'), 'string');
    copy.setIn(schemas('VolumeMount', 'properties', 'name', 'maxLength'), 5);
    copy.setIn(create('properties', 'templateID', 'maxLength'), 10);
    copy.deleteIn(['paths', '/sandboxes', 'get', 'responses', '200']);
    copy.addIn(['paths', '/snapshots', 'get', 'parameters'], copy.createNode({ ...since, required: true }));
    copy.setIn(['components', 'parameters', 'SandboxID', 'schema', 'pattern'], '^[a-z]{2}$');
  });
  expect(found).toMatchInlineSnapshot(`
    [
      "response-removed paths /sandboxes get responses 200",
      "schema-type-changed paths /sandboxes get responses 400 content application/json schema properties code",
      "property-removed paths /sandboxes get responses 400 content application/json schema properties error_code",
      "required-properties-added paths /sandboxes post requestBody content application/json schema allOf 0",
      "schema-constraint-changed paths /sandboxes post requestBody content application/json schema allOf 0 properties templateID",
      "schema-constraint-changed paths /sandboxes post requestBody content application/json schema allOf 0 properties volumeMounts items properties name",
      "operation-removed paths /sandboxes/{sandboxID} delete",
      "schema-constraint-changed paths /sandboxes/{sandboxID} parameters 0 schema",
      "path-removed paths /sandboxes/{sandboxID}/refreshes",
      "parameter-became-required paths /snapshots get parameters 4",
    ]
  `);
});

it('lets pass what a client does not notice', () => {
  const found = afterEdit((copy) => {
    copy.setIn(['info', 'description'], 'Other words.');
    const content = { 'application/json': { schema: { type: 'string' } } };
    const responses = { 200: { description: 'The tides.', content } };
    copy.setIn(['paths', '/tides'], copy.createNode({ get: { operationId: 'listTides', responses } }));
    copy.setIn(create('properties', 'tide'), copy.createNode({ type: 'string' }));
    copy.setIn(schemas('ErrorBody', 'properties', 'hint'), copy.createNode({ type: 'string' }));
    copy.addIn(['paths', '/snapshots', 'get', 'parameters'], copy.createNode(since));
    copy.setIn(create('properties', 'templateID', 'maxLength'), 400);
  });
  expect(found).toEqual([]);
});

it('finds each kind of change of the protocol buffers that a client does not survive', () => {
  const found = afterReplacing(
    ['rpc CloseStdin(CloseStdinRequest) returns (CloseStdinResponse);', ''],
    ['string tag = 3;', 'string tag = 33;'],
    ['uint32 pid = 2;', 'string pid = 2;'],
    ['string cmd = 1;', ''],
    ['SIGNAL_SIGTERM = 15;', ''],
    ['rpc Update(UpdateRequest)', 'rpc Update(stream UpdateRequest)'],
  );
  expect(found).toMatchInlineSnapshot(`
    [
      "RPC_NO_DELETE CloseStdin Process",
      "RPC_SAME_CLIENT_STREAMING Update Process",
      "FIELD_NO_DELETE 3 tag StartRequest",
      "FIELD_NO_DELETE 1 cmd ProcessConfig",
      "FIELD_SAME_TYPE 2 pid ProcessInfo",
      "ENUM_VALUE_NO_DELETE 15 Signal",
    ]
  `);
});

it('lets a new call, a new field and a new value of an enum pass', () => {
  const found = afterReplacing(
    ['service Process {', 'service Process {\n  rpc Renice(ListRequest) returns (ListResponse);\n'],
    ['string cmd = 1;', 'string cmd = 1;\n  optional string tide = 77;'],
    ['SIGNAL_SIGTERM = 15;', 'SIGNAL_SIGTERM = 15;\n  SIGNAL_SIGHUP = 1;'],
  );
  expect(found).toEqual([]);
});

it('takes a change as announced only when a text has its whole name in backquotes', () => {
  const change = { name: 'path-removed paths /tides', message: '' };
  expect(findUnnamed([change], ['Removes `path-removed paths /tides`.'])).toEqual([]);
  expect(
    findUnnamed([change], ['Removes path-removed paths /tides', '`path-removed paths /tides/1`']),
  ).toEqual([change]);
});
