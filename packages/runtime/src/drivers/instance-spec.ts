import { isAbsolute, normalize } from 'node:path';
import { RuntimeError } from '../error.ts';
import { parseNetworkPolicy } from '../network/policy.ts';
import type { InstanceOrigin, InstanceSpec, TreeOrigin } from '../runtime.ts';

/** Lower-case letters and digits only: the id becomes part of paths, cgroups and container names. */
export const isInstanceId = (value: unknown): value is string =>
  typeof value === 'string' && /^[a-z0-9]{1,40}$/.test(value);

/** @throws RuntimeError `internal`, naming the field */
export function parseInstanceId(value: unknown, field = 'id'): string {
  if (isInstanceId(value)) return value;
  throw invalid(field, 'must be 1 to 40 of a-z and 0-9');
}

/**
 * Parses a spec. Throws `internal`, naming the field, when a field is missing, unknown or out of its range: a spec is
 * made by skerry, not by a user.
 */
export function parseInstanceSpec(value: unknown): InstanceSpec {
  const spec = parseFields(value, 'spec', ['id', 'rootfs', 'snapshot', 'hostname', 'limits', 'network']);
  const limits = parseFields(spec.limits, 'limits', ['cpuCount', 'memoryBytes', 'diskBytes', 'processCount']);
  return {
    ...parseOrigin(spec),
    id: parseInstanceId(spec.id),
    hostname: parseHostname(spec.hostname),
    limits: {
      cpuCount: parseNumber(limits.cpuCount, 'limits.cpuCount', { above: 0, whole: false }),
      memoryBytes: parseNumber(limits.memoryBytes, 'limits.memoryBytes', { above: 0, whole: true }),
      diskBytes: parseNumber(limits.diskBytes, 'limits.diskBytes', { above: 0, whole: true }),
      processCount: parseNumber(limits.processCount, 'limits.processCount', { above: 0, whole: true }),
    },
    network: parseNetworkPolicy(spec.network),
  };
}

/** Parses which files are to be compared. Throws as `parseInstanceSpec` does. */
export function parseTreeOrigin(value: unknown, field: string): TreeOrigin {
  const origin = parseFields(value, field, ['rootfs', 'snapshot', 'instance']);
  if (origin.instance === undefined) return parseOrigin(origin);
  if (Object.keys(origin).length === 1) return { instance: parseInstanceId(origin.instance, field) };
  throw invalid(field, 'must be one of rootfs, snapshot and instance');
}

function parseOrigin({ rootfs, snapshot }: { rootfs: unknown; snapshot: unknown }): InstanceOrigin {
  if (snapshot === undefined) return { rootfs: parsePath(rootfs, 'rootfs') };
  if (rootfs === undefined) return { snapshot: parseInstanceId(snapshot, 'snapshot') };
  throw invalid('snapshot', 'cannot be combined with rootfs');
}

function parseFields<Name extends string>(
  value: unknown,
  what: string,
  names: readonly Name[],
): Record<Name, unknown> {
  if (typeof value !== 'object' || value === null) throw invalid(what, 'must be an object');
  const unknownName = Object.keys(value).find((name) => !(names as readonly string[]).includes(name));
  if (unknownName !== undefined) throw invalid(`${what}.${unknownName}`, 'is unknown');
  return value as Record<Name, unknown>;
}

/**
 * Parses a path that may become part of the options of an overlay, which are split at commas and colons. Throws as
 * `parseInstanceSpec` does.
 */
export function parsePath(value: unknown, field: string): string {
  const isPlain = typeof value === 'string' && isAbsolute(value) && normalize(value) === value;
  if (isPlain && /^[^\p{Cc},:\\]+$/u.test(value)) return value;
  throw invalid(field, 'must be an absolute path without "..", comma, colon and backslash');
}

function parseHostname(value: unknown): string {
  if (typeof value === 'string' && /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(value)) return value;
  throw invalid('hostname', 'must be a label by RFC 1123');
}

function parseNumber(value: unknown, what: string, rule: { above: number; whole: boolean }): number {
  const isFit = typeof value === 'number' && Number.isFinite(value) && value > rule.above;
  if (isFit && (!rule.whole || Number.isSafeInteger(value))) return value;
  throw invalid(what, `must be a ${rule.whole ? 'whole ' : ''}number above ${rule.above}`);
}

const invalid = (what: string, rule: string): RuntimeError => new RuntimeError('internal', `${what} ${rule}`);
