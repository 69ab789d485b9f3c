import type { Mutant } from './mutants.ts';

/** A defect that no test can notice, since nothing that a caller can observe depends on it. Not counted. */
export interface Equivalent {
  /** From the root. */
  file: string;
  /** The line of source as it is and with the defect, not indented. They name exactly one defect of the file. */
  intact: string;
  defect: string;
  reason: string;
}

const of = (file: string, entries: Omit<Equivalent, 'file'>[]): Equivalent[] =>
  entries.map((entry) => ({ file, ...entry }));

export const equivalents: readonly Equivalent[] = [
  ...of('packages/runtime/src/drivers/oci/criu/checkpoint.ts', [
    {
      intact: 'const READ_LIMIT = 2;',
      defect: 'const READ_LIMIT = (2+1);',
      reason: 'Only the time that it takes depends on it.',
    },
    {
      intact: 'const WRITE_LIMIT = 6;',
      defect: 'const WRITE_LIMIT = (6+1);',
      reason: 'Only the time that it takes depends on it.',
    },
    {
      intact: '.toSorted((one, other) => other.sizeBytes - one.sizeBytes)',
      defect: '.toSorted((one, other) => other.sizeBytes + one.sizeBytes)',
      reason: 'Only the time that it takes depends on it.',
    },
    {
      intact: 'const small = names.filter((name) => !isPages(name));',
      defect: 'const small = names.filter((name) => isPages(name));',
      reason: 'It only begins early what the sync below completes.',
    },
    {
      intact: `await withConcurrencyLimit(small, { limit: WRITE_LIMIT }, (name) => beginWriteOut(\`\${folder}/\${name}\`));`,
      defect: ';',
      reason: 'It only begins early what the sync below completes.',
    },
  ]),
  ...of('packages/runtime/src/drivers/oci/snapshots/manifest.ts', [
    {
      intact: 'const CHUNK_CHARACTERS = 65_536;',
      defect: 'const CHUNK_CHARACTERS = (65_536+1);',
      reason: 'The size of a piece changes how often the file is written to, not what is written.',
    },
    {
      intact: 'if (text.length < CHUNK_CHARACTERS) continue;',
      defect: 'if (text.length == CHUNK_CHARACTERS) continue;',
      reason: 'The size of a piece changes how often the file is written to, not what is written.',
    },
    {
      intact: 'if (text.length < CHUNK_CHARACTERS) continue;',
      defect: 'if (text.length >= CHUNK_CHARACTERS) continue;',
      reason: 'The size of a piece changes how often the file is written to, not what is written.',
    },
    {
      intact: 'if (text.length < CHUNK_CHARACTERS) continue;',
      defect: 'if (text.length <= CHUNK_CHARACTERS) continue;',
      reason: 'The size of a piece changes how often the file is written to, not what is written.',
    },
    {
      intact: 'if (text.length < CHUNK_CHARACTERS) continue;',
      defect: 'if (true || text.length < CHUNK_CHARACTERS) continue;',
      reason: 'The size of a piece changes how often the file is written to, not what is written.',
    },
    {
      intact: 'if (text.length < CHUNK_CHARACTERS) continue;',
      defect: 'if (false && text.length < CHUNK_CHARACTERS) continue;',
      reason: 'The size of a piece changes how often the file is written to, not what is written.',
    },
    { intact: 'await takeTurns();', defect: ';', reason: 'It only lets other work run in between.' },
  ]),
  ...of('packages/runtime/src/drivers/oci/disk/fingerprint.ts', [
    {
      intact: 'const PART_BYTES = 2 ** 20;',
      defect: 'const PART_BYTES = (2+1) ** 20;',
      reason: 'The code is the same however the bytes are divided into parts.',
    },
    {
      intact: 'const PART_BYTES = 2 ** 20;',
      defect: 'const PART_BYTES = 2 ** (20+1);',
      reason: 'The code is the same however the bytes are divided into parts.',
    },
    {
      intact: 'const toBuffer = (): Buffer => Buffer.allocUnsafeSlow(Math.min(size + 1, PART_BYTES));',
      defect: 'const toBuffer = (): Buffer => Buffer.allocUnsafeSlow(Math.max(size + 1, PART_BYTES));',
      reason: 'The code is the same however the bytes are divided into parts.',
    },
    {
      intact: 'const toBuffer = (): Buffer => Buffer.allocUnsafeSlow(Math.min(size + 1, PART_BYTES));',
      defect: 'const toBuffer = (): Buffer => Buffer.allocUnsafeSlow(Math.min(size + (1+1), PART_BYTES));',
      reason: 'The code is the same however the bytes are divided into parts.',
    },
  ]),
  ...of('packages/runtime/src/drivers/oci/disk/hash-sparse.ts', [
    {
      intact: 'const CHUNK_BYTES = 2 ** 20;',
      defect: 'const CHUNK_BYTES = 2 ** (20+1);',
      reason: 'The hash is the same however the blocks are divided into parts.',
    },
    {
      intact: 'const CHUNK_BYTES = 2 ** 20;',
      defect: 'const CHUNK_BYTES = (2+1) ** 20;',
      reason: 'The hash is the same however the blocks are divided into parts.',
    },
    {
      intact: 'const wantedBytes = Math.min(CHUNK_BYTES, end - at);',
      defect: 'const wantedBytes = Math.min(CHUNK_BYTES, end + at);',
      reason: 'What is read behind the range is a hole, or is not read again.',
    },
    {
      intact: 'const wantedBytes = Math.min(CHUNK_BYTES, end - at);',
      defect: 'const wantedBytes = Math.max(CHUNK_BYTES, end - at);',
      reason: 'What is read behind the range is a hole, or is not read again.',
    },
    {
      intact: 'for (let from = 0; from < bytesRead; from += BLOCK_BYTES) {',
      defect: 'for (let from = 0; from <= bytesRead; from += BLOCK_BYTES) {',
      reason: 'The block behind the last is empty and counts as zeros.',
    },
    {
      intact: 'let buffer = Buffer.alloc(0);',
      defect: 'let buffer = Buffer.alloc((0+1));',
      reason: 'It is replaced before the first read, which needs a whole block.',
    },
    {
      intact: 'if (buffer.length < wantedBytes) buffer = Buffer.alloc(wantedBytes);',
      defect: 'if (buffer.length <= wantedBytes) buffer = Buffer.alloc(wantedBytes);',
      reason: 'A buffer more than needed is made.',
    },
    {
      intact: 'if (buffer.length < wantedBytes) buffer = Buffer.alloc(wantedBytes);',
      defect: 'if (true || buffer.length < wantedBytes) buffer = Buffer.alloc(wantedBytes);',
      reason: 'A buffer more than needed is made.',
    },
  ]),
  ...of('packages/edge/src/headers.ts', [
    {
      intact: 'for (let index = 0; index + 1 < rawHeaders.length; index += 2) {',
      defect: 'for (let index = 0; index + 1 <= rawHeaders.length; index += 2) {',
      reason: 'Names and values come in pairs, so the length is even.',
    },
  ]),
  ...of('packages/edge/src/agent-access.ts', [
    {
      intact: "const asked = parseRequestUrl(request.url ?? '/');",
      defect: "const asked = parseRequestUrl(request.url ?? '');",
      reason: 'Requests that a server receives have a URL; the type allows for responses.',
    },
  ]),
  ...of('packages/envd/src/process/process-table.ts', [
    {
      intact: 'if (!ended.delete(entry)) return;',
      defect: 'if (false && !ended.delete(entry)) return;',
      reason: 'A process that is forgotten again is in no index any more.',
    },
    {
      intact: 'if (entry.tag === undefined) return;',
      defect: 'if (false && entry.tag === undefined) return;',
      reason: 'The index by tags has no entry without one.',
    },
  ]),
  ...of('packages/platform/src/sandboxes/expiry.ts', [
    {
      intact: 'if (slot === undefined) return;',
      defect: 'if (false && slot === undefined) return;',
      reason: 'What follows finds nothing to remove.',
    },
  ]),
  ...of('packages/platform/src/sandboxes/recovery.ts', [
    {
      intact: "const found = instance === undefined ? 'stopped' : await instance.state();",
      defect: "const found = instance === undefined ? '' : await instance.state();",
      reason: 'The state is read only of an instance that exists.',
    },
    {
      intact: "if (instance === undefined || found === 'stopped') {",
      defect: "if (false && instance === undefined || found === 'stopped') {",
      reason: 'The state of an instance that does not exist is "stopped" here.',
    },
  ]),
  ...of('packages/platform/src/sandboxes/reconcile.ts', [
    {
      intact:
        "else if (row.state === 'running' && !live.has(row.id)) await adoptIfRunning(row.id, instance);",
      defect:
        "else if (row.state === 'running' || !live.has(row.id)) await adoptIfRunning(row.id, instance);",
      reason: '`adoptIfRunning` checks it again.',
    },
    {
      intact:
        "else if (row.state === 'running' && !live.has(row.id)) await adoptIfRunning(row.id, instance);",
      defect:
        "else if (true || row.state === 'running' && !live.has(row.id)) await adoptIfRunning(row.id, instance);",
      reason: '`adoptIfRunning` checks it again.',
    },
  ]),
  ...of('packages/platform/src/api-key.ts', [
    {
      intact: 'if (key.lastUsedAt === null || now - key.lastUsedAt >= TOUCH_INTERVAL_MS)',
      defect: 'if (false && key.lastUsedAt === null || now - key.lastUsedAt >= TOUCH_INTERVAL_MS)',
      reason: 'In the difference null is 0, which is long ago.',
    },
  ]),
  ...of('packages/platform/src/handlers/cursor.ts', [
    {
      intact: 'if (madeFor === undefined || startedAt === undefined || id === undefined) {',
      defect: 'if (madeFor === undefined && startedAt === undefined || id === undefined) {',
      reason: 'The form has either all of its groups or none.',
    },
    {
      intact: 'if (madeFor === undefined || startedAt === undefined || id === undefined) {',
      defect: 'if (madeFor === undefined || startedAt === undefined && id === undefined) {',
      reason: 'The form has either all of its groups or none.',
    },
    {
      intact: 'if (madeFor === undefined || startedAt === undefined || id === undefined) {',
      defect: 'if (false && madeFor === undefined || startedAt === undefined || id === undefined) {',
      reason: 'The form has either all of its groups or none.',
    },
    {
      intact:
        "const [, madeFor, startedAt, id] = form.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? [];",
      defect:
        "const [, madeFor, startedAt, id] = form.exec(Buffer.from(text, 'base64url').toString('')) ?? [];",
      reason: 'The two encodings differ in characters that the form does not have.',
    },
  ]),
  ...of('packages/platform/src/handlers/listing.ts', [
    {
      intact: "const wanted = query.state?.length ? query.state : ['running', 'paused'];",
      defect: "const wanted = query.state?.length ? query.state : ['running', ''];",
      reason: 'Every state but "running" stands for the paused ones.',
    },
    {
      intact:
        'const rows = filter ? await store.listSandboxes({ ...filter, ...after, order, limit: limit + 1 }) : [];',
      defect:
        'const rows = filter ? await store.listSandboxes({ ...filter, ...after, order, limit: limit + (1+1) }) : [];',
      reason: 'One row more than needed is read.',
    },
  ]),
  ...of('packages/platform/src/handlers/metadata-filter.ts', [
    {
      intact: 'if (key === undefined || pairValue === undefined || more.length > 0) {',
      defect: 'if (false && key === undefined || pairValue === undefined || more.length > 0) {',
      reason: 'A text that is split has at least one part.',
    },
  ]),
  ...of('packages/runtime/src/drivers/oci/container/seccomp-rules.ts', [
    {
      intact: 'valueTwo: 0,',
      defect: 'valueTwo: (0+1),',
      reason: 'libseccomp masks this value too.',
    },
    {
      intact: '...[...Array(SOCK_TYPE_MASK + 1).keys()].map((type) => {',
      defect: '...[...Array(SOCK_TYPE_MASK + (1+1)).keys()].map((type) => {',
      reason: 'libseccomp masks the type that is too many, for which there is a rule already.',
    },
    {
      intact: '...[...Array(last + 1).keys()]',
      defect: '...[...Array(last + (1+1)).keys()]',
      reason: 'The rule for everything above covers that number too.',
    },
    {
      intact:
        '...others(2, internetProtocols, 58).map((protocol) => refuse(EPROTONOSUPPORT, [ofFamily, protocol])),',
      defect:
        '...others(2, internetProtocols, (58+1)).map((protocol) => refuse(EPROTONOSUPPORT, [ofFamily, protocol])),',
      reason: 'The rules name one number more before that for everything above.',
    },
    {
      intact:
        '...others(2, netlinkProtocols, 31).map((protocol) => refuse(EPROTONOSUPPORT, [netlink, protocol])),',
      defect:
        '...others(2, netlinkProtocols, (31+1)).map((protocol) => refuse(EPROTONOSUPPORT, [netlink, protocol])),',
      reason: 'The rules name one number more before that for everything above.',
    },
    {
      intact: '...others(0, [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK], 16).map((family) =>',
      defect: '...others(0, [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK], (16+1)).map((family) =>',
      reason: 'The rules name one number more before that for everything above.',
    },
    {
      intact:
        '...others(0, [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK], 16).map((family) => refuse(EAFNOSUPPORT, family)),',
      defect:
        '...others(0, [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK], (16+1)).map((family) => refuse(EAFNOSUPPORT, family)),',
      reason: 'The rules name one number more before that for everything above.',
    },
    {
      intact: '[...Array(31).keys()].map((bit) => 2 ** bit).filter((flag) => (mask & flag) !== 0);',
      defect: '[...Array((31+1)).keys()].map((bit) => 2 ** bit).filter((flag) => (mask & flag) !== 0);',
      reason: 'No mask has the highest bit.',
    },
  ]),
  ...of('packages/runtime/src/network/rules.ts', [
    {
      intact: 'iifname "skv*" accept',
      defect: '',
      reason: 'The policy of the chain accepts it too.',
    },
    {
      intact: 'type filter hook input priority filter - 10; policy accept;',
      defect: 'type filter hook input priority filter - 10; policy drop;',
      reason: 'Every packet meets a rule of the chain.',
    },
  ]),
  ...of('packages/runtime/src/network/slots.ts', [
    {
      intact: 'for (let attempt = 0; attempt < 8; attempt++) {',
      defect: 'for (let attempt = 0; attempt <= 8; attempt++) {',
      reason: 'How often it tries at random before it searches changes only the time that it takes.',
    },
    {
      intact: 'for (let attempt = 0; attempt < 8; attempt++) {',
      defect: 'for (let attempt = (0+1); attempt < 8; attempt++) {',
      reason: 'How often it tries at random before it searches changes only the time that it takes.',
    },
    {
      intact: 'for (let attempt = 0; attempt < 8; attempt++) {',
      defect: 'for (let attempt = 0; attempt < (8+1); attempt++) {',
      reason: 'How often it tries at random before it searches changes only the time that it takes.',
    },
    {
      intact: 'const firstApart = Math.ceil((600_100_001 - FIRST_UID) / UID_COUNT);',
      defect: 'const firstApart = Math.ceil(((600_100_001+1) - FIRST_UID) / UID_COUNT);',
      reason: 'The quotient is rounded up to the same slot.',
    },
    {
      intact: "const space = target?.indexOf(' ') ?? -1;",
      defect: "const space = target?.indexOf(' ') ?? -(1+1);",
      reason: 'A link that is gone is skipped already.',
    },
    {
      intact: 'if (target === undefined || space === -1) continue;',
      defect: 'if (false && target === undefined || space === -1) continue;',
      reason: 'A link that is gone has no space in it either.',
    },
  ]),
  ...of('packages/platform/src/sandboxes/ending.ts', [
    {
      intact: 'if (instance !== undefined) taken.set(id, instance);',
      defect: 'if (true || instance !== undefined) taken.set(id, instance);',
      reason: 'An entry without an instance is read as no entry.',
    },
  ]),
  ...of('packages/sdk/src/transport/reconnect.ts', [
    {
      intact: 'const remainingMs = deadlineMs === undefined ? 0 : deadlineMs - Date.now();',
      defect: 'const remainingMs = deadlineMs === undefined ? (0+1) : deadlineMs - Date.now();',
      reason: 'Without a deadline it is only compared with 0, which both are not below.',
    },
  ]),
  ...of('packages/sdk/src/transport/retrying-fetch.ts', [
    {
      intact: 'const maxDelayMs = 2 ** 31 - 1;',
      defect: 'const maxDelayMs = 2 ** 31 + 1;',
      reason: 'Delays are whole seconds, of which none is between the two.',
    },
    {
      intact: 'const maxDelayMs = 2 ** 31 - 1;',
      defect: 'const maxDelayMs = 2 ** 31 - (1+1);',
      reason: 'Delays are whole seconds, of which none is between the two.',
    },
  ]),
  ...of('packages/sdk/src/transport/sleep.ts', [
    {
      intact: "else signal.addEventListener('abort', stop, { once: true });",
      defect: "else signal.addEventListener('abort', stop, { once: false });",
      reason: 'A signal aborts once.',
    },
  ]),
];

/** Whether an entry of the list names this defect. */
export const isEquivalent = (file: string, { intact, defect }: Mutant): boolean =>
  equivalents.some((entry) => entry.file === file && entry.intact === intact && entry.defect === defect);

/** The entries about a file that do not name exactly one of its defects: the file has changed since they were written. */
export const listStale = (file: string, mutants: Mutant[]): Equivalent[] =>
  equivalents.filter(
    ({ intact, defect, ...entry }) =>
      entry.file === file &&
      mutants.filter((mutant) => mutant.intact === intact && mutant.defect === defect).length !== 1,
  );
