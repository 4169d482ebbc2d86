import { withAbsolutePath } from '../../core/engines/search-path.ts';
import type { Client } from '../clients.ts';
import type { Entry } from './entry-format.ts';

type Environment = Record<string, string | undefined>;

/** What a person's shell has, who called us by way of npx or npm. */
const ofNpm = /^npm_|^(INIT_CWD|NODE)$/;
const secret = /(KEY|TOKEN|SECRET|PASSWORD)/i;
const always = ['HOME', 'LANG', 'PATH', 'TERM'];

/**
 * The environment that a client gives the server of an entry: what it hands
 * on of its own, and what the entry names.
 */
export function environmentOf(
  { name, hands }: Client,
  entry: Entry,
  workspace: string,
  own: Environment = process.env
): Record<string, string> {
  const shell = plain(own);
  const named = listOf(entry.env_vars);
  const isHanded = (variable: string) =>
    hands === 'all' ||
    named.includes(variable) ||
    (hands === 'little' ? always.includes(variable) : !secret.test(variable));
  const handed = Object.entries(shell).filter(([key]) => isHanded(key));
  const set = Object.entries(Object(entry.env)).map(([key, value]) => [
    key,
    filledIn(String(value), shell, workspace)
  ]);
  return withAbsolutePath({
    ...Object.fromEntries(handed),
    ...(name === 'claude' ? { CLAUDE_PROJECT_DIR: workspace } : {}),
    ...Object.fromEntries(set)
  });
}

/** Without what npm adds, and the folders of programs that it puts first. */
function plain(own: Environment): Record<string, string> {
  const kept = Object.entries(own).flatMap(([key, value]) =>
    value === undefined || ofNpm.test(key) ? [] : [[key, value]]
  );
  const shell: Record<string, string> = Object.fromEntries(kept);
  const { PATH: path = '' } = shell;
  const delimiter = process.platform === 'win32' ? ';' : ':';
  // Without npm above us, such a folder is the person's own.
  const isNpms = (folder: string) =>
    own.npm_execpath !== undefined &&
    /node_modules[\\/]\.bin$|node-gyp-bin$/.test(folder);
  const folders = path.split(delimiter).filter((folder) => !isNpms(folder));
  return { ...shell, PATH: folders.join(delimiter) };
}

/** `$NAME`, `${NAME}`, `${NAME:-default}`, `${env:NAME}`. */
function filledIn(
  text: string,
  shell: Record<string, string>,
  workspace: string
): string {
  return text
    .replaceAll('${workspaceFolder}', workspace)
    .replace(
      /\$(?:(\w+)|\{(?:env:)?(\w+)(?::-([^}]*))?\})/g,
      (_, bare, braced, other) => shell[bare ?? braced] ?? other ?? ''
    );
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
