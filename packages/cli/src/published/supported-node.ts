/** Whether a version of Node is in a range of `^22.15 || >=24`. Knows no other forms, and throws on them. */
export function isSupported(version: string, range: string): boolean {
  return range.split('||').some((part) => {
    const [, operator, wanted = ''] = /^\s*(\^|>=)(\d+(?:\.\d+)*)\s*$/.exec(part) ?? [];
    if (operator === undefined) throw new Error(`unknown range of versions: ${part}`);
    const [major = 0, minor = 0, patch = 0] = toNumbers(version);
    const [wantedMajor = 0, wantedMinor = 0, wantedPatch = 0] = toNumbers(wanted);
    if (major !== wantedMajor) return operator === '>=' && major > wantedMajor;
    return minor === wantedMinor ? patch >= wantedPatch : minor > wantedMinor;
  });
}

function toNumbers(version: string): number[] {
  return version.replace(/^v/, '').split('.').map(Number);
}
