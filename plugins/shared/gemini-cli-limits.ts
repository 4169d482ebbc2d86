import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Access, Enforcement } from '../../src/plugin/plugin.ts';

const file = 'gemini-cli-limits.toml';
const here = import.meta.dirname;
const limits = [join(here, file), join(here, '..', '..', 'dist', file)].find(
  existsSync
);

/** Gemini CLI silently ignores a policy file that does not exist. */
export const enforcement: Enforcement = limits ? 'enforced' : 'asked';

export function permissions(access: Access): string[] {
  if (access === 'full') return ['--approval-mode', 'yolo'];
  const mode = access === 'write' ? 'auto_edit' : 'default';
  return ['--approval-mode', mode, `--admin-policy=${limits ?? file}`];
}
