import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, processesOf } from '../kit/agents/probe-agent.ts';
import { until } from '../kit/judges/until.ts';
import { ended, type Provoke, rehearse, rehearsed, said } from './provoke.ts';

/** Symptoms of agents that do not start, or do not end well. */
export const symptomsOfAgents: Record<string, Provoke> = {
  'It is installed, and `not_installed` all the same': async ({ serve }) =>
    said(await serve(), 'spawn_codex', { prompt: 'x' }),

  'A key does not arrive: `not_logged_in`': async ({ serve }) =>
    said(await serve(), 'spawn_mistral', { prompt: 'x' }),

  '`interrupted`': async ({ configure, serve }) => {
    configure({ engines: { rehearsal: true } });
    const server = await serve();
    const id = await rehearse(server, 'hang');
    const pids = await until('its processes', () => {
      const found = processesOf(id);
      return found.length > 1 ? found : undefined;
    });
    for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    return String((await ended(server, id)).error);
  },

  '`interrupted`, and it never began': async ({ configure, serve }) => {
    configure({ ...rehearsed, maxConcurrent: 1 });
    const first = await serve();
    const holder = await rehearse(first, 'sleep 1');
    const waiting = await rehearse(first, 'say x');
    first.child.kill('SIGKILL');
    await first.exited;
    const next = await serve();
    await next.call('wait_for_agents', { agent_ids: [holder] });
    return String((await ended(next, waiting)).error);
  },

  '`timeout`, and the work is half done': async ({ configure, serve }) => {
    configure(rehearsed);
    const server = await serve();
    const id = await rehearse(server, 'hang', { timeout: 1 });
    return String((await ended(server, id)).error);
  },

  '`idle_timeout`': async ({ configure, serve }) => {
    const rehearsal = { idleTimeoutSeconds: 1 };
    configure({ engines: { rehearsal }, onDisconnect: 'stop' });
    const server = await serve();
    const id = await rehearse(server, 'hang');
    return String((await ended(server, id)).error);
  },

  '`bad_output`': async ({ configure, serve }) => {
    configure(rehearsed);
    const server = await serve();
    return String(
      (await ended(server, await rehearse(server, 'exit 3'))).error
    );
  },

  '`session_busy`': async ({ configure, serve }) => {
    configure(rehearsed);
    const server = await serve();
    const first = await rehearse(server, 'say x');
    await ended(server, first);
    const again = { agent_id: first, prompt: 'hang' };
    await server.call('continue_agent', again);
    return said(server, 'continue_agent', again);
  },

  '`depth_limit`': async ({ configure, serve }) => {
    configure(rehearsed);
    const server = await serve({ env: { TROUPE_DEPTH: '2' } });
    return said(server, 'spawn_rehearsal', { prompt: 'x' });
  },

  '`spawn_rate`': async ({ configure, serve }) => {
    configure({ ...rehearsed, maxSpawnsPerMinute: 1 });
    const server = await serve();
    await ended(server, await rehearse(server, 'say x'));
    return said(server, 'spawn_rehearsal', { prompt: 'x' });
  },

  '`no_repository`': async ({ configure, serve }) => {
    configure(rehearsed);
    const input = { prompt: 'x', isolate: 'worktree' };
    return said(await serve(), 'spawn_rehearsal', input);
  },

  'The wait comes back with `timeout`': async ({ configure, serve }) => {
    configure(rehearsed);
    const server = await serve();
    const agent_ids = [await rehearse(server, 'hang')];
    return said(
      server,
      'wait_for_agents',
      { agent_ids, timeout: 0 },
      'message'
    );
  },

  'The wait finds no agent': async ({ configure, serve }) => {
    configure(rehearsed);
    const { data } = await (await serve()).call('wait_for_agents');
    return JSON.stringify(data);
  },

  'It has less access than it was given': async ({ configure, serve }) => {
    configure({ ...rehearsed, maxAccess: 'read' });
    const server = await serve();
    const input = { prompt: 'say x', access: 'full' };
    return said(server, 'spawn_rehearsal', input, 'message');
  },

  'There is no such agent': async ({ serve }) =>
    said(await serve(), 'cancel_agent', { agent_id: '00000000' }),

  'IAC.md says Running for ever': async ({ configure, serve, run, ...at }) => {
    configure({ engines: { rehearsal: true } });
    const file = join(at.workspace.path, 'logs', 'IAC.md');
    const stateIn = () =>
      /⏳ \*\*Running\*\*|✅ \*\*Done\*\*/.exec(read(file))?.[0];
    const server = await serve();
    const id = await rehearse(server, 'sleep 1');
    await until('the entry', stateIn);
    server.child.kill('SIGKILL');
    await server.exited;
    await until('its end', () => processesOf(id).length === 0 || undefined);
    const before = stateIn();
    await run(['list']);
    return `before: ${before}\nafter:  ${stateIn()}`;
  }
};

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
