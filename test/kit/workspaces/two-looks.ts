import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createRepositories } from '../../../src/adapters/git/repositories.ts';
import type { Comparison, View } from '../../../src/core/changes/ports.ts';
import { createGitWorkspace, type GitWorkspace } from './git-workspace.ts';

/** A project that is looked at, changed, and looked at again. */
export interface TwoLooks extends GitWorkspace {
  view: View;
  /** Where the patch goes. */
  patch: string;
  /** What is said of the changes that happen between the two looks. */
  seen: (change: () => void) => Promise<Comparison>;
}

export const repositories = createRepositories();
export const unhurried = new AbortController().signal;

export function createTwoLooks(): TwoLooks {
  const project = createGitWorkspace();
  const looks: TwoLooks = {
    ...project,
    view: {
      directory: project.path,
      shadow: join(project.home, 'shadow'),
      owned: [project.path],
      seenFrom: project.path
    },
    patch: join(project.home, 'changes.diff'),
    seen: async (change) => {
      const { view, patch } = looks;
      if (!(await repositories.remember(view, unhurried)))
        throw new Error('There is no repository.');
      change();
      const found = await repositories.compare(view, patch, unhurried);
      if (!found) throw new Error('Nothing was remembered.');
      if (existsSync(patch) !== found.files.length > 0)
        throw new Error('The patch does not go with the files.');
      return found;
    }
  };
  return looks;
}
