import { fieldsOf, git, matchingSettings } from './run-git.ts';
import { type Shadow, shadowGit } from './shadow.ts';

/**
 * The paths whose content a filter of the user's git changes, such as that of
 * Git LFS. A patch made without that filter has other content, and one made
 * with it may name an object that is stored nowhere else.
 * @param shadow its index has the attributes that the patch brings along
 */
export async function filteredPaths(
  shadow: Shadow,
  paths: string[],
  signal: AbortSignal
): Promise<string[]> {
  if (paths.length === 0) return [];
  const { top } = shadow;
  const drivers = await configuredFilters(top, signal);
  if (drivers.size === 0) return [];
  const input = Buffer.from(
    paths.map((path) => `${path}\0`).join(''),
    'latin1'
  );
  const args = ['check-attr', '-z', '--stdin', 'filter'];
  const inIndex = ['check-attr', '--cached', ...args.slice(1)];
  const answers = [
    await git(args, { cwd: top, signal, input }),
    await shadowGit(shadow, inIndex, signal, { input })
  ];
  const found = new Set<string>();
  for (const answer of answers) {
    const fields = answer.toString('latin1').split('\0');
    for (let at = 0; at + 2 < fields.length; at += 3)
      if (drivers.has(fields[at + 2] ?? '')) found.add(fields[at] ?? '');
  }
  return [...found];
}

/** The names of filters in any configuration that git reads there. */
async function configuredFilters(
  top: string,
  signal: AbortSignal
): Promise<Set<string>> {
  const keys = '^filter\\..*\\.(clean|smudge|process)$';
  const call = { cwd: top, signal };
  const names = await matchingSettings(keys, '--name-only', call);
  return new Set(
    fieldsOf(names).map((key) => key.split('.').slice(1, -1).join('.'))
  );
}
