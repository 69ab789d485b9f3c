import { describe, expect, it } from 'vitest';
import { type Distribution, parseDistribution, selectHostSources, toDefaultSources } from './apt-sources.ts';

const bookworm: Distribution = { id: 'debian', codename: 'bookworm', architecture: 'amd64' };

describe('parseDistribution', () => {
  it('reads id and codename, quoted or not', () => {
    expect(parseDistribution('NAME="Debian"\nID=debian\nVERSION_CODENAME=bookworm\n', 'amd64')).toEqual(
      bookworm,
    );
    expect(parseDistribution('ID="ubuntu"\nVERSION_CODENAME="noble"\n', 'arm64')?.codename).toBe('noble');
  });

  it('returns nothing for other distributions', () => {
    expect(parseDistribution('ID=fedora\nVERSION_ID=42\n', 'amd64')).toBeUndefined();
    expect(parseDistribution('ID=debian\n', 'amd64')).toBeUndefined();
  });
});

describe('selectHostSources', () => {
  it('selects the local mirror of the release and drops third parties, backports, source packages and other releases', () => {
    const text = selectHostSources(
      [
        {
          name: 'debian.sources',
          text: [
            '# a comment',
            'Types: deb deb-src',
            '# http://elsewhere.example/debian',
            'URIs: http://mirror.example/debian',
            'Suites: bookworm bookworm-updates',
            '  bookworm-backports',
            'Components: main contrib',
            'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg',
            '',
            'Types: deb',
            'Enabled: no',
            'URIs: http://disabled.example/debian',
            'Suites: bookworm',
            'Components: main',
            'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg',
          ].join('\n'),
        },
        {
          name: 'vendor.list',
          text: [
            'deb [arch=amd64 signed-by=/etc/apt/keyrings/vendor.gpg] https://vendor.example/debian bookworm main',
            'deb https://unsigned.example/debian bookworm main',
            'deb-src http://deb.debian.org/debian bookworm main',
            'deb http://deb.debian.org/debian trixie main',
            '  deb http://security.debian.org/debian-security bookworm-security main # security',
          ].join('\n'),
        },
      ],
      bookworm,
    );
    expect(text.match(/^URIs: .*|^Suites: .*/gm)).toEqual([
      'URIs: http://mirror.example/debian',
      'Suites: bookworm bookworm-updates',
      'URIs: http://security.debian.org/debian-security',
      'Suites: bookworm-security',
    ]);
  });

  it('falls back to the distribution’s default when the release itself is not among the host’s sources', () => {
    const files = [{ name: 'a.list', text: 'deb http://deb.debian.org/debian bookworm-updates main\n' }];
    expect(selectHostSources(files, bookworm)).toBe(toDefaultSources(bookworm));
    expect(selectHostSources([], bookworm)).toContain('Suites: bookworm bookworm-updates\n');
  });
});

describe('toDefaultSources', () => {
  it('uses the ports archive of Ubuntu for processors other than x86', () => {
    const noble = { id: 'ubuntu', codename: 'noble', architecture: 'arm64' } as const;
    expect(toDefaultSources(noble).match(/^URIs: .*/gm)).toEqual([
      'URIs: http://ports.ubuntu.com/ubuntu-ports',
      'URIs: http://ports.ubuntu.com/ubuntu-ports',
    ]);
  });
});
