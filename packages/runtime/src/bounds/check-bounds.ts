import {
  type DescField,
  type DescMessage,
  type DescOneof,
  getOption,
  hasOption,
  type Message,
} from '@bufbuild/protobuf';
import { RuntimeError } from '../error.ts';
import { type Bounds, bounds, one_required } from '../gen/skerry/bounds/v1/bounds_pb.ts';

/** The form of an id, which becomes part of paths, cgroups and container names. */
export const ID_PATTERN = /^[a-z0-9]{1,40}$/;

/**
 * Throws `internal` when a field of a message has a value outside of the bounds of its schema, with the name of the field: the messages of
 * skerry's processes are made by skerry, not by a user.
 */
export const checkBounds = (schema: DescMessage, message: Message): void => {
  for (const check of checksOf(schema)) check(message as Message & Values, '');
};

type Values = Record<string, unknown>;
type Check = (message: Values, prefix: string) => void;

const checks = new WeakMap<DescMessage, readonly Check[]>();

/** The checks of a schema, made at its first message. */
const checksOf = (schema: DescMessage): readonly Check[] => {
  const known = checks.get(schema);
  if (known !== undefined) return known;
  const made = schema.members.flatMap((member): Check[] =>
    member.kind === 'oneof' ? [toOneofCheck(member)] : toFieldChecks(member).map(read(member)),
  );
  checks.set(schema, made);
  return made;
};

type ValueCheck = (value: unknown, path: string) => void;

const read =
  ({ localName }: DescField) =>
  (check: ValueCheck): Check =>
  (message, prefix) =>
    check(message[localName], `${prefix}${localName}`);

const toOneofCheck = (oneof: DescOneof): Check => {
  const { localName, fields } = oneof;
  const isRequired = hasOption(oneof, one_required) && getOption(oneof, one_required);
  const known = new Map(fields.map((field) => [field.localName, toFieldChecks(field)]));
  return (message, prefix) => {
    const { case: name, value } = message[localName] as { case: string | undefined; value?: unknown };
    if (name !== undefined) for (const check of known.get(name) ?? []) check(value, `${prefix}${name}`);
    else if (isRequired)
      throw refusal(`${prefix}${localName}`, `must be one of ${[...known.keys()].join(', ')}`);
  };
};

const toFieldChecks = (field: DescField): ValueCheck[] => {
  const limits = hasOption(field, bounds) ? getOption(field, bounds) : undefined;
  const own = limits === undefined ? [] : [toValueCheck(limits)];
  if (field.fieldKind === 'message')
    return [...own, (value, path) => value !== undefined && checkNested(field.message, value, path)];
  if (field.fieldKind === 'map')
    return own.map(
      (check): ValueCheck =>
        (value, path) => {
          for (const [key, one] of Object.entries(value as Values)) check(one, `${path}.${key}`);
        },
    );
  if (field.fieldKind !== 'list') return own;
  const each = own.map(
    (check): ValueCheck =>
      (value, path) => {
        for (const [index, one] of (value as unknown[]).entries()) check(one, `${path}[${index}]`);
      },
  );
  if (field.listKind !== 'message') return each;
  const { message } = field;
  return [
    (value, path) => {
      for (const [index, one] of (value as unknown[]).entries())
        checkNested(message, one, `${path}[${index}]`);
    },
  ];
};

const checkNested = (schema: DescMessage, value: unknown, path: string): void => {
  for (const check of checksOf(schema)) check(value as Values, `${path}.`);
};

const toValueCheck = ({ required, id, pattern, form, positive, count }: Bounds): ValueCheck => {
  const whole = pattern === '' ? undefined : new RegExp(`^(?:${pattern})$`);
  return (value, path) => {
    if (value === undefined) {
      if (required) throw refusal(path, 'is missing');
      return;
    }
    if (id && !ID_PATTERN.test(value as string)) throw refusal(path, 'must be 1 to 40 of a-z and 0-9');
    if (whole !== undefined && !whole.test(value as string)) throw refusal(path, `must be ${form}`);
    if (positive && !isPositive(value as number | bigint)) throw refusal(path, 'must be a number above 0');
    if (count && !isCount(value as number)) throw refusal(path, 'must be a whole number from 0');
  };
};

const isPositive = (value: number | bigint): boolean =>
  value > 0 && (typeof value === 'bigint' ? value <= Number.MAX_SAFE_INTEGER : Number.isFinite(value));

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

const refusal = (field: string, rule: string): RuntimeError =>
  new RuntimeError('internal', `${field} ${rule}`);
