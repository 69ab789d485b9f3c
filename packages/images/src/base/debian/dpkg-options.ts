/** Documentation, which the slim images of the distributions leave out as well; licences stay. */
export const documentation: readonly { folder: string; kept: readonly string[] }[] = [
  { folder: '/usr/share/man', kept: [] },
  { folder: '/usr/share/info', kept: [] },
  { folder: '/usr/share/lintian', kept: [] },
  // Translations; `locale-gen` reads the one file.
  { folder: '/usr/share/locale', kept: ['locale.alias'] },
];

/** Options for the configuration of dpkg, in an image and while it is made. */
export const dpkgOptions: readonly string[] = [
  'force-unsafe-io',
  'path-exclude=/usr/share/doc/*',
  'path-include=/usr/share/doc/*/copyright',
  ...documentation.flatMap(({ folder, kept }) => [
    `path-exclude=${folder}/*`,
    ...kept.map((name) => `path-include=${folder}/${name}`),
  ]),
];
