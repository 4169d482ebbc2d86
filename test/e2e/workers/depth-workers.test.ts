import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  addNestingAgent,
  answersOf,
  nesting
} from '../../kit/agents/nesting-agent.ts';
import { until } from '../../kit/judges/until.ts';
import { startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';
import { testTmux, tmuxStage } from '../../kit/workspaces/tmux-stage.ts';

/** A server whose workers are of that kind. */
async function serve(workspace: TempWorkspace, backend: 'process' | 'tmux') {
  const orchestrator = { backend, engine: 'nester', readyTimeoutSeconds: 20 };
  addNestingAgent(workspace, { maxDepth: 2, orchestrator });
  const terminal = backend === 'tmux' ? tmuxStage() : undefined;
  const { TMUX = '', TMUX_PANE = '' } = terminal?.environment ?? {};
  const server = await startServer(workspace, {
    flags: ['--toolsets', 'all'],
    env: terminal ? { TMUX, TMUX_PANE } : {}
  });
  onTestFinished(async () => {
    await server.close();
    terminal?.stop();
    workspace.remove();
  });
  return server;
}

function namesIn(...path: string[]): string[] {
  try {
    return readdirSync(join(...path)).filter((name) =>
      /^[0-9a-f]{8}$/.test(name)
    );
  } catch {
    return [];
  }
}

describe.each(['process', 'tmux'] as const)('a worker (%s)', (backend) => {
  const testIt = backend === 'tmux' ? testTmux : test;

  testIt('is one deep, though it clears the environment', async () => {
    const workspace = createTempWorkspace();
    const server = await serve(workspace, backend);
    const spawn = { tool: 'spawn_rehearsal', arguments: { prompt: 'say x' } };
    const prompt = nesting({ how: 'bare', calls: [spawn] });
    const NESTING = nesting({
      how: 'bare',
      calls: [{ tool: 'spawn_nester', arguments: { prompt } }],
      until: join(workspace.path, 'end')
    });
    const creating = server.call('agent_create', {
      name: 'w',
      role: 'You nest.',
      env: { NESTING }
    });
    const { path, record } = workspace;
    const [inner = ''] = await until('its agent', () => {
      const names = namesIn(record, 'spawns');
      return names.length > 0 ? names : undefined;
    });
    const [worker] = namesIn(path, '.agents', 'agents');
    const folder = join(record, 'spawns', inner);
    const text = readFileSync(join(folder, 'record.json'), 'utf8');
    expect(JSON.parse(text)).toMatchObject({ depth: 2, parent: worker });
    const [refused] = await answersOf(server, inner);
    expect(refused?.data.error_code).toBe('depth_limit');
    workspace.write('end', '');
    // It never asked for work.
    expect((await creating).data.error_code).toBe('not_ready');
  });
});
