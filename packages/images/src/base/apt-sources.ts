export interface Distribution {
  /** `ID` of os-release(5). */
  id: 'debian' | 'ubuntu';
  codename: string;
  /** Debian's name of the processor architecture. */
  architecture: string;
}

interface AptSource {
  types: string[];
  uris: string[];
  suites: string[];
  components: string[];
  signedBy: string | undefined;
}

const keyrings = {
  debian: '/usr/share/keyrings/debian-archive-keyring.gpg',
  ubuntu: '/usr/share/keyrings/ubuntu-archive-keyring.gpg',
};

/** Reads os-release(5) text; undefined for a distribution without Debian packages of its own. */
export function parseDistribution(osRelease: string, architecture: string): Distribution | undefined {
  const value = (key: string): string | undefined =>
    new RegExp(`^${key}=(["']?)(.*)\\1$`, 'm').exec(osRelease)?.[2];
  const id = value('ID');
  const codename = value('VERSION_CODENAME');
  if ((id !== 'debian' && id !== 'ubuntu') || !codename || !/^[a-z]+$/.test(codename)) return undefined;
  return { id, codename, architecture };
}

/** The sources that the distribution itself ships with, in deb822 style, for the apt of a sandbox. */
export function toDefaultSources({ id, codename, architecture }: Distribution): string {
  if (id === 'debian')
    return toDeb822([
      { uri: 'http://deb.debian.org/debian', suites: [codename, `${codename}-updates`], id },
      { uri: 'http://deb.debian.org/debian-security', suites: [`${codename}-security`], id },
    ]);
  const isPrimary = architecture === 'amd64' || architecture === 'i386';
  const archive = isPrimary ? 'http://archive.ubuntu.com/ubuntu' : 'http://ports.ubuntu.com/ubuntu-ports';
  const security = isPrimary ? 'http://security.ubuntu.com/ubuntu' : archive;
  return toDeb822([
    { uri: archive, suites: [codename, `${codename}-updates`], id },
    { uri: security, suites: [`${codename}-security`], id },
  ]);
}

/**
 * Selects from the host's apt configuration (the text of its `.list` and `.sources` files) what the distribution itself
 * publishes for this release, so that a local mirror is used; drops third parties. Returns the default sources when
 * none of the host's qualifies.
 */
export function selectHostSources(
  files: readonly { name: string; text: string }[],
  distribution: Distribution,
): string {
  const { id, codename } = distribution;
  const release = new Set([codename, `${codename}-updates`, `${codename}-security`]);
  const picked = files
    .flatMap(({ name, text }) => (name.endsWith('.sources') ? parseDeb822(text) : parseList(text)))
    .filter((source) => source.types.includes('deb') && source.components.includes('main'))
    .filter((source) => isOfDistribution(source, id))
    .flatMap(({ uris, suites }) =>
      uris.map((uri) => ({ uri, suites: suites.filter((suite) => release.has(suite)), id })),
    )
    .filter(({ suites }) => suites.length > 0);
  return picked.some(({ suites }) => suites.includes(codename))
    ? toDeb822(picked)
    : toDefaultSources(distribution);
}

/** Third parties sign packages with other keys, and a source without a key is trusted by its host alone. */
function isOfDistribution({ uris, signedBy }: AptSource, id: Distribution['id']): boolean {
  if (signedBy !== undefined) return signedBy.startsWith(`/usr/share/keyrings/${id}-archive-`);
  return uris.every(
    (uri) => URL.canParse(uri) && new URL(uri).hostname.endsWith(`.${id}.${id === 'debian' ? 'org' : 'com'}`),
  );
}

function toDeb822(sources: { uri: string; suites: string[]; id: Distribution['id'] }[]): string {
  return sources
    .map(
      ({ uri, suites, id }) =>
        `Types: deb\nURIs: ${uri}\nSuites: ${suites.join(' ')}\nComponents: main${id === 'ubuntu' ? ' universe' : ''}\nSigned-By: ${keyrings[id]}\n`,
    )
    .join('\n');
}

/** Stanzas of sources.list(5), "DEB822-STYLE FORMAT". */
function parseDeb822(text: string): AptSource[] {
  return text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .split(/\n\s*\n/)
    .map((stanza) => {
      const fields = new Map<string, string>();
      for (const [, name = '', value = ''] of stanza
        .replaceAll(/\n[ \t]+/g, ' ')
        .matchAll(/^([A-Za-z-]+):[ \t]*(.*)$/gm))
        fields.set(name.toLowerCase(), value.trim());
      return fields;
    })
    .filter((fields) => fields.get('enabled')?.toLowerCase() !== 'no')
    .map((fields) => {
      const words = (name: string): string[] => fields.get(name)?.split(/\s+/).filter(Boolean) ?? [];
      return {
        types: words('types'),
        uris: words('uris'),
        suites: words('suites'),
        components: words('components'),
        signedBy: fields.get('signed-by'),
      };
    });
}

/** Lines of sources.list(5), "ONE-LINE-STYLE FORMAT". */
function parseList(text: string): AptSource[] {
  return [...text.matchAll(/^\s*(deb(?:-src)?)\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)[ \t]*([^\n#]*)/gm)].map(
    ([, type = '', options = '', uri = '', suite = '', components = '']) => ({
      types: [type],
      uris: [uri],
      suites: [suite],
      components: components.split(/\s+/).filter(Boolean),
      signedBy: /(?:^|\s)signed-by=(\S+)/.exec(options)?.[1],
    }),
  );
}
