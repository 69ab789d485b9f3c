/**
 * The pax record in which this agent writes all extended attributes of an entry, as JSON with base64: the parser reads text, and their
 * values may be any bytes.
 */
const OWN_RECORD = 'SKERRY.xattrs';
/** Records that other programs write, as text. */
const PREFIX = 'SCHILY.xattr.';

export type Attributes = readonly (readonly [name: string, value: Buffer])[];

/** The pax record of attributes. */
export const toAttributeRecord = (attributes: Attributes): Record<string, string> =>
  attributes.length === 0
    ? {}
    : { [OWN_RECORD]: JSON.stringify(attributes.map(([name, value]) => [name, value.toString('base64')])) };

/**
 * The attributes of the namespace `user` in pax records. The parser reads text: a value of another program with other
 * bytes is lost, and a missing one is better than a wrong one.
 */
export const parseAttributes = (pax: Readonly<Record<string, string>>): Attributes => {
  const own = Object.entries(pax)
    .filter(([key, value]) => key.startsWith(PREFIX) && !value.includes('\ufffd'))
    .map(([key, value]) => [key.slice(PREFIX.length), Buffer.from(value)] as const);
  return [...own, ...parseOwn(pax[OWN_RECORD])].filter(
    ([name]) => name.startsWith('user.') && !name.startsWith('user.overlay.'),
  );
};

const parseOwn = (text: string | undefined): [string, Buffer][] => {
  if (text === undefined) return [];
  try {
    const list = JSON.parse(text) as unknown;
    if (!Array.isArray(list)) return [];
    return list
      .filter(
        (pair): pair is [string, string] =>
          Array.isArray(pair) && pair.every((one) => typeof one === 'string'),
      )
      .map(([name, value]) => [name, Buffer.from(value, 'base64')]);
  } catch {
    // The archive of another program that uses the name.
    return [];
  }
};
