/** What stands between the two markers that `replaceSection` asks for. Throws as that does. */
export const readSection = (text: string, name: string): string => split(text, name)[1];

/**
 * Puts `content` between `<!-- name -->` and `<!-- /name -->` of a Markdown text, in place of what is there. Throws when the text
 * does not hold each of the two once, in this order.
 */
export function replaceSection(text: string, { name, content }: { name: string; content: string }): string {
  const [before, , after] = split(text, name);
  return `${before}<!-- ${name} -->\n\n${content}\n\n<!-- /${name} -->${after}`;
}

function split(text: string, name: string): [before: string, content: string, after: string] {
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [before, rest, ...others] = text.split(start);
  const [content, after, ...more] = rest?.split(end) ?? [];
  if (before === undefined || content === undefined || after === undefined || others.length + more.length > 0)
    throw new Error(`the text must hold ${start} and then ${end}, each once`);
  return [before, content, after];
}
