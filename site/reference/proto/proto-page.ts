import type { DescEnum, DescField, DescFile, DescMessage, DescMethod, DescOneof } from '@bufbuild/protobuf';
import { ScalarType } from '@bufbuild/protobuf';
import { getComments } from '@bufbuild/protoplugin';
import { toCell, toHeading, toProse, toSection, toTable } from '../markdown.ts';

/**
 * The page of a file: its services with their calls, each under a heading whose id is the name of the call, then its messages and
 * enums, those inside of others after them.
 */
export function toProtoPage(file: DescFile): string {
  const types = [...file.messages.flatMap(listTypes), ...file.enums];
  return `${toSection(
    `# ${file.services.map(({ name }) => name).join(', ')}`,
    `Generated from \`specs/${file.name}.proto\`. The calls are those of [Connect](https://connectrpc.com/docs/protocol), inside a sandbox.`,
    ...file.services.map((service) =>
      toSection(toComment(service), ...service.methods.map((method) => toCall(method))),
    ),
    '## Messages',
    ...types.map((type) => (type.kind === 'enum' ? toEnum(type) : toMessage(type))),
  )}\n`;
}

const toCall = (method: DescMethod): string => {
  const { name, methodKind, input, output, parent } = method;
  const isStreamIn = methodKind === 'client_streaming' || methodKind === 'bidi_streaming';
  const isStreamOut = methodKind === 'server_streaming' || methodKind === 'bidi_streaming';
  const takes = `${isStreamIn ? 'a stream of ' : ''}${toLink(input)}`;
  const returns = `${isStreamOut ? 'a stream of ' : ''}${toLink(output)}`;
  return toSection(
    toHeading(2, name, name),
    `\`POST /${parent.typeName}/${name}\``,
    toComment(method),
    `Takes ${takes}, returns ${returns}.`,
  );
};

const toMessage = (message: DescMessage): string => {
  const rows = message.fields.map((field) => [
    `\`${field.name}\``,
    `${field.number}`,
    `${toType(field)}${toPresence(field)}`,
    toCell(comment(field)),
  ]);
  return toSection(
    toHeading(3, toName(message), toName(message)),
    toComment(message),
    rows.length === 0 ? 'Has no fields.' : toTable(['Field', 'Number', 'Type', 'Meaning'], rows),
    ...message.oneofs.map(toComment),
  );
};

const toEnum = (type: DescEnum): string =>
  toSection(
    toHeading(3, toName(type), toName(type)),
    toComment(type),
    toTable(
      ['Value', 'Number', 'Meaning'],
      type.values.map((value) => [`\`${value.name}\``, `${value.number}`, toCell(comment(value))]),
    ),
  );

const listTypes = (message: DescMessage): (DescMessage | DescEnum)[] => [
  message,
  ...message.nestedMessages.flatMap(listTypes),
  ...message.nestedEnums,
];

function toType(field: DescField): string {
  switch (field.fieldKind) {
    case 'scalar':
      return toScalar(field.scalar);
    case 'enum':
      return toLink(field.enum);
    case 'message':
      return toLink(field.message);
    case 'list':
      return `repeated ${toElement(field)}`;
    case 'map':
      return `map of ${toScalar(field.mapKey)} to ${field.mapKind === 'scalar' ? toScalar(field.scalar) : toLink(field.mapKind === 'enum' ? field.enum : field.message)}`;
  }
}

const toElement = (field: DescField & { fieldKind: 'list' }): string =>
  field.listKind === 'scalar'
    ? toScalar(field.scalar)
    : toLink(field.listKind === 'enum' ? field.enum : field.message);

/** Whether a field may be absent: `optional`, or at most one of a group. */
const toPresence = (field: DescField): string => {
  if (field.oneof !== undefined) return `, one of \`${field.oneof.name}\``;
  return field.proto.proto3Optional ? ', optional' : '';
};

const toScalar = (type: ScalarType): string => ScalarType[type].toLowerCase();

/** Without the package, which is that of the page. */
const toName = ({ typeName, file }: DescMessage | DescEnum): string =>
  typeName.slice(file.proto.package.length + 1);

const toLink = (type: DescMessage | DescEnum): string =>
  type.typeName.startsWith('google.') ? `\`${type.typeName}\`` : `[${toName(type)}](#${toName(type)})`;

type Described = Parameters<typeof getComments>[0] | DescOneof;

/** Lines of a comment begin with a space. */
const comment = (described: Described): string =>
  (getComments(described).leading ?? '').trim().replaceAll('\n ', '\n');

const toComment = (described: Described): string => toProse(comment(described));
