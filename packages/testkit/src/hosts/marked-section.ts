/**
 * Puts `content` between `<!-- name -->` and `<!-- /name -->` of a Markdown text, in place of what is there. Throws when the text
 * does not hold each of the two once, in this order.
 */
export function replaceSection(text: string, { name, content }: { name: string; content: string }): string {
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [before, after, ...others] = text.split(start);
  const rest = after?.split(end);
  if (before === undefined || rest?.length !== 2 || others.length > 0)
    throw new Error(`the text must hold ${start} and then ${end}, each once`);
  return `${before}${start}\n\n${content}\n\n${end}${rest[1]}`;
}
