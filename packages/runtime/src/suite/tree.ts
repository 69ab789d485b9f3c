import type { LevelTraits } from './levels.ts';

/** A script that makes every kind of file that a disk of the level can contain; `describeTree` then describes them. */
export const toMakeTree = ({ keepsPipes }: LevelTraits): string => `
  mkdir -p /srv/a/b && cd /srv/a && echo text > file && ln file b/hard && ln -s ../file b/soft ${keepsPipes ? '&& mkfifo pipe' : ''}
  printf 'x%.0s' $(seq 5000) > long && truncate -s 20M sparse && chmod 4755 long && chown 1000:2000 file
  rm -r /usr/share/doc && echo other > /etc/issue && mv /etc/motd /srv/a/motd 2>/dev/null; touch -d 2001-02-03 b
  mkdir -m 1777 open && setsid sleep 1000 >/dev/null 2>&1 </dev/null & sleep 0.1`;

/**
 * Prints a line for each entry, without the number of links: the overlay shows one more for a file that it
 * copied from the image, once it is mounted anew.
 */
export const describeTree = `
  cd /srv && find . -printf '%p %y %m %U:%G %s %l %T@\\n' | sort; stat -c '%h' a/file; ls -i a/file a/b/hard | cut -d' ' -f1 | uniq | wc -l
  cat a/file a/b/soft a/long /etc/issue | md5sum; ls -d /usr/share/doc 2>&1; stat -c %b a/sparse`;
