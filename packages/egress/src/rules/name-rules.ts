/** Which names a sandbox may reach. */
export interface NameRules {
  /** Whether a rule allows the name, which is compared without regard to case and to a dot at its end. */
  allows(name: string): boolean;
}

/** Returns a name in the form in which rules are compared; undefined for what is no host name. */
export const normalizeName = (name: string): string | undefined => {
  const plain = (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase();
  if (plain.length > 253 || !plain.split('.').every((label) => LABEL.test(label))) return undefined;
  // An address is no name: a client that sends it as one would pass a rule for neither.
  return /^[\d.]+$/.test(plain) ? undefined : plain;
};

const LABEL = /^[a-z\d_](?:[a-z\d_-]{0,61}[a-z\d_])?$/;

/** Compiles rules: a name allows itself alone, and `*.` with a name all names below that one, at any depth. */
export const createNameRules = (entries: readonly string[]): NameRules => {
  const exact = new Set<string>();
  const parents = new Set<string>();
  for (const entry of entries) {
    const lower = entry.toLowerCase();
    if (lower.startsWith('*.')) parents.add(lower.slice(2));
    else exact.add(lower);
  }
  return {
    allows: (name) => {
      const plain = normalizeName(name);
      if (plain === undefined) return false;
      if (exact.has(plain)) return true;
      for (let dot = plain.indexOf('.'); dot >= 0; dot = plain.indexOf('.', dot + 1))
        if (parents.has(plain.slice(dot + 1))) return true;
      return false;
    },
  };
};
