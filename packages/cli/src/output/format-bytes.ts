const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A size in its largest unit, such as `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(bytes, 1)) / 10)));
  const value = bytes / 2 ** (10 * power);
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]}`;
}
