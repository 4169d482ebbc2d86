import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type McpClient, startServer } from '../servers/mcp-client.ts';
import { createGitWorkspace, type GitWorkspace } from './git-workspace.ts';

const secret = 'TOP-SECRET-KEY-MATERIAL';
/** SPEC 66, and what a run takes by itself. */
export const promisedMs = 5000 + 2000;

/** Its own words do not match it. */
const pattern = secret.replace('-', '[-]');
/** An agent that looks for the secret in all that troupe has written. */
const search = `grep -rlsa --exclude-dir=private '${pattern}' "$HOME" . || echo nothing`;

export interface Ended {
  status?: string;
  result?: string;
  files_changed?: { path: string }[];
  files_changed_note?: string;
}

export interface AttackedRun extends Ended {
  ms: number;
  /** Of the spawn. */
  data: Record<string, unknown>;
}

/** A repository that an attacker has prepared, and a secret of the user. */
export interface AttackedGit {
  workspace: GitWorkspace;
  server: McpClient;
  /** A path in the workspace. */
  at: (...names: string[]) => string;
  /** A path in the home of the user; `private/key` holds the secret. */
  outside: (...names: string[]) => string;
  run: (
    prompt?: string,
    more?: Record<string, unknown>
  ) => Promise<AttackedRun>;
  /** Expects a run with a note, in time, why nothing was compared. */
  expectNotCompared: (because: RegExp) => Promise<void>;
  /** Serves another directory from here on. */
  serve: (path: string) => Promise<void>;
  end: () => Promise<void>;
}

export async function createAttackedGit(): Promise<AttackedGit> {
  const workspace = createGitWorkspace();
  const { path, home } = workspace;
  mkdirSync(join(home, 'private'));
  writeFileSync(join(home, 'private', 'key'), `${secret}\n`);
  const attacked: AttackedGit = {
    workspace,
    server: await startServer(workspace),
    at: (...names) => join(path, ...names),
    outside: (...names) => join(home, ...names),
    run: (prompt = search, more = {}) => runOn(attacked.server, prompt, more),
    expectNotCompared: async (because) => {
      const ended = await attacked.run();
      const { status, result, files_changed_note: note, ms } = ended;
      expect({ status, result }).toEqual({
        status: 'completed',
        result: 'nothing'
      });
      expect(note).toMatch(because);
      expect(note).toContain('The files were not compared');
      expect(ms).toBeLessThan(promisedMs);
    },
    serve: async (other) => {
      await attacked.server.close();
      attacked.server = await startServer({ ...workspace, path: other });
    },
    end: async () => {
      expect(attacked.server.impurities).toEqual([]);
      await attacked.server.close();
      workspace.remove();
    }
  };
  return attacked;
}

export function pathsOf({ files_changed = [] }: Ended): string[] {
  return files_changed.map(({ path }) => path);
}

async function runOn(
  server: McpClient,
  prompt: string,
  more: Record<string, unknown>
): Promise<AttackedRun> {
  const began = performance.now();
  const { isError, data } = await server.call('spawn_shell', {
    prompt,
    ...more
  });
  const { agent_id } = data;
  if (isError) return { ms: performance.now() - began, data };
  await server.call('wait_for_agents', { agent_ids: [agent_id] });
  const ms = performance.now() - began;
  const answer = await server.call('result', { agent_id });
  const ended: Ended = JSON.parse(answer.text);
  return { ms, ...ended, data };
}
