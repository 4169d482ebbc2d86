import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createPidNamespace,
  type PidNamespace,
  testInNamespace
} from '../../kit/workspaces/pid-namespace.ts';
import { agentsAlive } from '../../kit/workspaces/step-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const tidy: (() => unknown)[] = [];

afterEach(async () => {
  for (const step of tidy.splice(0).reverse()) await step();
});

describe('after its container was restarted', () => {
  testInNamespace(
    'no agent is running that is not, and its place is free',
    async () => {
      const { workspace, before, after, serve } = await prepared();
      const first = await serve(before);
      const id = await started(first, 'hang');
      const behind = await spawned(first, 'say never');
      expect(behind.status).toBe('queued');
      before.close();
      await first.exited;

      const second = await serve(after);
      const next = await spawned(second, 'say after');
      expect(next.status).toBe('queued');
      const { data } = await second.call('list');
      expect(data.running).toMatchObject([{ id }]);
      expect(data.queued).toHaveLength(2);
      await second.close();

      silentSince(workspace, 100, id, behind.id);
      const third = await serve(after);
      const last = await spawned(third, 'say after');
      const waited = await third.call('wait_for_agents', {
        agent_ids: [id, behind.id, last.id]
      });
      expect(waited.data).toMatchObject({
        status: 'all_completed',
        results: [
          { status: 'interrupted', error_code: 'interrupted' },
          { status: 'interrupted', error_code: 'interrupted' },
          { status: 'completed' }
        ]
      });
      expect(waited.text).toContain('gave no sign of life for two minutes');
      expect(waited.text).toContain('Never started');
    }
  );

  testInNamespace('an agent of before is canceled at once', async () => {
    const { workspace, before, after, serve } = await prepared();
    const first = await serve(before);
    const id = await started(first, 'hang');
    before.close();
    await first.exited;

    const second = await serve(after);
    const canceled = await second.call('cancel_agent', { agent_id: id });
    expect(canceled.data.status).toBe('canceled');
    expect(canceled.text).toContain('could not be looked at from here');
    const { data } = await second.call('result', { agent_id: id });
    expect(data).toMatchObject({ status: 'canceled', success: false });
    const more = { agent_id: id, prompt: 'say more' };
    const went = await second.call('continue_agent', more);
    expect(went.isError, went.text).toBe(false);
    await second.call('wait_for_agents');
    const next = await spawned(second, 'say after');
    expect(next.status).toBe('running');
    const cleaned = await runCommand(workspace, ['clean', id, '--yes']);
    expect(cleaned.code, cleaned.stderr).toBe(0);
    const gone = await second.call('result', { agent_id: id });
    expect(gone.data.status).toBe('not_found');
  });
});

describe('an agent that lives in another container', () => {
  testInNamespace(
    'is running while it gives signs, and is ended by a cancel',
    async () => {
      const { workspace, before, after, serve } = await prepared(8);
      const first = await serve(before);
      const id = await started(first, 'sleep 1\n'.repeat(300));
      const behind = await spawned(first, 'say later');

      const second = await serve(after);
      await until('its first look', () => silentNote(workspace, id));
      await second.close();
      const sign = join(folderOf(workspace, id), 'alive');
      const { mtimeMs } = statSync(sign, { throwIfNoEntry: false }) ?? {};
      silentSince(workspace, 1000, id);
      await until(
        'its next sign',
        () => statSync(sign, { throwIfNoEntry: false })?.mtimeMs !== mtimeMs,
        30_000
      );
      const third = await serve(after);
      const { data } = await third.call('list');
      expect(data.running).toMatchObject([{ id }]);
      expect(data.queued).toMatchObject([{ id: behind.id }]);

      const canceled = await third.call('cancel_agent', { agent_id: id });
      expect(canceled.data.status).toBe('canceled');
      await until(
        'its end',
        () => !agentsAlive(workspace).includes(id),
        30_000
      );
      const seen = await first.call('result', { agent_id: id });
      expect(seen.data.status).toBe('canceled');
    }
  );

  testInNamespace(
    'has one end though it goes on after it was given up',
    async () => {
      const { workspace, before, after, serve } = await prepared(8);
      const first = await serve(before);
      const id = await started(first, 'sleep 1\n'.repeat(300));
      const claim = readFileSync(join(folderOf(workspace, id), 'claim'));
      const session = String(Number.parseInt(String(claim), 10));
      before.run('pkill -STOP -s "$1"', session);
      const second = await serve(after);
      await until('its first look', () => silentNote(workspace, id));
      await second.close();
      silentSince(workspace, 100, id);

      const third = await serve(after);
      const seen = await third.call('result', { agent_id: id });
      expect(seen.data.status).toBe('interrupted');
      before.run('pkill -CONT -s "$1"', session);
      await until(
        'its end',
        () => !agentsAlive(workspace).includes(id),
        30_000
      );
      for (const server of [first, third]) {
        const { data } = await server.call('result', { agent_id: id });
        expect(data.status).toBe('interrupted');
      }
      const journal = readFileSync(workspace.paths.journal, 'utf8');
      const ends = journal.match(/"type":"finished"/g) ?? [];
      expect(ends).toHaveLength(1);
    }
  );
});

/** Two containers, one after the other, and one place at work. */
async function prepared(idleTimeoutSeconds = 600) {
  const workspace = createTempWorkspace();
  tidy.push(workspace.remove);
  workspace.write(
    '.trouperc.json',
    JSON.stringify({
      maxConcurrent: 1,
      engines: { rehearsal: { idleTimeoutSeconds } }
    })
  );
  const [before, after] = await Promise.all([
    createPidNamespace(true),
    createPidNamespace(true)
  ]);
  tidy.push(before.close, after.close);
  const serve = async (space: PidNamespace) => {
    const server = await startServer(workspace, { under: space.under });
    tidy.push(() => server.close());
    return server;
  };
  return { workspace, before, after, serve };
}

async function spawned(server: McpClient, prompt: string) {
  const { data } = await server.call('spawn_rehearsal', { prompt });
  return { id: String(data.agent_id), status: data.status };
}

/** An agent that is at the last line of its script. */
async function started(server: McpClient, prompt: string): Promise<string> {
  const { id, status } = await spawned(server, prompt);
  expect(status).toBe('running');
  await until('its last line', async () => {
    const seen = await server.call('result', { agent_id: id });
    return String(seen.data.progress ?? '').startsWith(prompt.slice(0, 4));
  });
  return id;
}

function folderOf({ record }: TempWorkspace, id: string): string {
  return join(record, 'spawns', id);
}

/** What is noted of an agent at the first look from elsewhere. */
function silentNote(workspace: TempWorkspace, id: string): string | undefined {
  try {
    return readFileSync(join(folderOf(workspace, id), 'silent'), 'utf8');
  } catch {
    return undefined;
  }
}

/** As if the first look had been so many seconds earlier. */
function silentSince(
  workspace: TempWorkspace,
  seconds: number,
  ...ids: string[]
): void {
  for (const id of ids) {
    const [place, sign, since] = silentNote(workspace, id)?.split('\n') ?? [];
    writeFileSync(
      join(folderOf(workspace, id), 'silent'),
      `${place}\n${sign}\n${Number(since) - seconds}`
    );
  }
}
