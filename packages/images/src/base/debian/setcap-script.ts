/** The path of the script, and the option with which apt has packages find it as well. */
export const setcapPath = '/usr/local/sbin/setcap';
export const setcapAptOption = 'DPkg::Path "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin";\n';

/**
 * Comes before setcap(8) on the PATH and refuses what the kernel would refuse later: a program does not start when its file has a
 * capability in effect that its sandbox withholds. Packages of Debian set the setuid bit instead where setcap fails.
 */
export const setcapScript = `#!/bin/sh
# Tries capabilities on a copy of true first: a program with one that this machine withholds does not start.
setcap=/usr/sbin/setcap
[ -x "$setcap" ] || setcap=/sbin/setcap
folder=$(mktemp -d) || exit
trap 'rm -rf "$folder"' EXIT
cp /bin/true "$folder/true"

require_start() {
  # What setcap itself refuses is left to the call at the end, which says why.
  "$setcap" "$1" "$folder/true" 2> /dev/null || return 0
  "$folder/true" 2> /dev/null && return
  echo "setcap: a program with $1 could not start here" >&2
  exit 1
}

next=capabilities
for word; do
  case $next$word in
    capabilities-v | capabilities-h) break ;;
    capabilities-n) next=number ;;
    capabilities- | capabilities-r) next=path ;;
    capabilities-*) ;;
    capabilities*)
      require_start "$word"
      next=path
      ;;
    *) next=capabilities ;;
  esac
done
"$setcap" "$@"
`;
