import type { Screen, Span } from './screen.ts';

/** A screen, and how long it is shown. */
export interface Frame {
  screen: Screen;
  durationMs: number;
}

export interface PictureOptions {
  columns: number;
  rows: number;
  /** Says what it shows to readers that do not see it. */
  title: string;
}

const cell = { width: 8.4, height: 18, fontSize: 14 };
const padding = 12;
const colors = [
  '#3b4252 #e06c75 #98c379 #e5c07b #61afef #c678dd #56b6c2 #d8dee9',
  '#687087 #ff7a85 #b5e890 #ffd68a #7cc4ff #e29cf5 #74d4e0 #ffffff',
].flatMap((half) => half.split(' '));

/**
 * A picture that shows the frames in turn and begins again after the last. It has no program: the frames are side by side, and moved
 * at their times. Readers who want no motion see the last one. There must be a frame.
 */
export function toSvg(frames: readonly Frame[], { columns, rows, title }: PictureOptions): string {
  const width = Math.ceil(columns * cell.width + 2 * padding);
  const height = rows * cell.height + 2 * padding;
  const known = new Map<string, string>();
  const drawn = frames.map(({ screen }, at) => {
    const shown = screen.rows.map((spans, row) => toUse(known, spans, row)).join('');
    return `<g transform="translate(${at * width})">${shown}${toCursor(screen)}</g>`;
  });
  const durationMs = frames.reduce((sum, frame) => sum + frame.durationMs, 0);
  let passedMs = 0;
  const stops = frames.map((frame, at) => {
    const stop = `${((100 * passedMs) / durationMs).toFixed(2)}%{transform:translateX(${-at * width}px)}`;
    passedMs += frame.durationMs;
    return stop;
  });
  const last = `translateX(${-(frames.length - 1) * width}px)`;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${toXml(title)}</title>`,
    `<style>`,
    `text{font:${cell.fontSize}px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d8dee9;white-space:pre}`,
    `.b{font-weight:bold}.d{opacity:.6}`,
    ...colors.map((color, at) => `.c${at}{fill:${color}}`),
    `#strip{animation:play ${(durationMs / 1000).toFixed(2)}s steps(1,end) infinite}`,
    `@keyframes play{${stops.join('')}100%{transform:${last}}}`,
    `@media (prefers-reduced-motion:reduce){#strip{animation:none;transform:${last}}}`,
    `</style>`,
    `<defs>`,
    ...known.entries().map(([text, id]) => `<g id="${id}">${text}</g>`),
    `</defs>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#1e222a"/>`,
    `<clipPath id="window"><rect x="${padding}" y="${padding}" width="${width - 2 * padding}" height="${height - 2 * padding}"/></clipPath>`,
    `<g clip-path="url(#window)"><g transform="translate(${padding} ${padding})"><g id="strip">`,
    ...drawn,
    `</g></g></g>`,
    `</svg>`,
  ].join('\n')}\n`;
}

/** Most rows are in many frames, and each is drawn once. */
function toUse(known: Map<string, string>, spans: readonly Span[], row: number): string {
  if (spans.length === 0) return '';
  const text = spans.map(toText).join('');
  const id = known.get(text) ?? `r${known.size}`;
  known.set(text, id);
  return `<use href="#${id}" y="${row * cell.height}"/>`;
}

function toText({ column, text, color, bold, dim }: Span): string {
  const classes = [color === undefined ? '' : `c${color}`, bold ? 'b' : '', dim ? 'd' : ''].filter(Boolean);
  const look = classes.length === 0 ? '' : ` class="${classes.join(' ')}"`;
  // Without it columns would not align in a font of another width.
  const length = ` textLength="${round(text.length * cell.width)}"`;
  return `<text x="${round(column * cell.width)}" y="${cell.fontSize}"${length}${look}>${toXml(text)}</text>`;
}

const toCursor = ({ cursor }: Screen): string =>
  `<rect x="${round(cursor.column * cell.width)}" y="${cursor.row * cell.height + 1}" width="${cell.width}" height="${cell.height - 2}" fill="#d8dee9" opacity=".5"/>`;

const round = (length: number): number => Math.round(length * 10) / 10;

const toXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
