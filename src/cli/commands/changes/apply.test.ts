import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { commandHere } from '../../../../test/kit/servers/command-here.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../../../test/kit/workspaces/git-workspace.ts';

let workspace: GitWorkspace;

beforeEach(() => {
  workspace = createGitWorkspace();
});

afterEach(() => workspace.remove());

/** The exit code of a command, and its document. */
async function troupe(...args: string[]) {
  const all = [...args, '--json', '--workspace', workspace.path];
  const { code, stdout } = await commandHere(workspace, all);
  return { code, document: JSON.parse(stdout) };
}

async function ran(...args: string[]): Promise<string> {
  const { document } = await troupe('run', 'rehearsal', ...args);
  return document.agent_id;
}

test('apply prints as JSON what it has applied', async () => {
  const id = await ran('write a.txt hi', '--isolate');
  const path = join(workspace.path, 'a.txt');
  expect(existsSync(path)).toBe(false);
  expect(await troupe('apply', id)).toEqual({
    code: 0,
    document: {
      ...{ agent_id: id, status: 'applied', directory: workspace.path },
      ...{ files: ['a.txt'], message: expect.stringContaining(id) }
    }
  });
  expect(existsSync(path)).toBe(true);
});

test('apply prints as JSON that there is nothing to apply', async () => {
  const id = await ran('say hi');
  expect(await troupe('apply', id)).toEqual({
    code: 1,
    document: {
      ...{ agent_id: id, status: 'nothing', directory: null, files: [] },
      message: expect.stringContaining(id)
    }
  });
});

test('apply says how many paths are in the way', async () => {
  const id = await ran('write a.txt hi\nwrite b.txt hi', '--isolate');
  workspace.write('a.txt', 'mine');
  const message = async () => (await troupe('apply', id)).document.message;
  expect(await message()).toMatch(/^1 path with .* content is in the way of/);
  workspace.write('b.txt', 'mine');
  expect(await message()).toMatch(/^2 paths with .* content are in the way of/);
});
