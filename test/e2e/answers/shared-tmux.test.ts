import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect } from 'vitest';
import { locate } from '../../../src/adapters/child-process/locate.ts';
import { hasProc } from '../../../src/adapters/child-process/process-table.ts';
import { until } from '../../kit/judges/until.ts';
import { startServer } from '../../kit/servers/mcp-client.ts';
import { createGitWorkspace } from '../../kit/workspaces/git-workspace.ts';
import { needing } from '../../kit/workspaces/needs.ts';

const testTmux = needing(
  'tmux and /proc',
  hasProc() && locate('tmux') !== undefined
);

testTmux(
  'a session of the user stays in a tmux server that an agent has started',
  async () => {
    const workspace = createGitWorkspace();
    const arena = mkdtempSync(join(tmpdir(), 'troupe-arena-'));
    const [up, go] = [join(arena, 'up'), join(arena, 'go')];
    const socket = join('/tmp', `troupe-${basename(arena)}`);
    const tmux = (...args: string[]) =>
      execFileSync('tmux', ['-S', socket, ...args], {
        ...{ cwd: arena, encoding: 'utf8', stdio: 'pipe' }
      });
    const server = await startServer(workspace);
    try {
      const prompt = `tmux -f /dev/null -S '${socket}' new-session -d -s own 'sleep 300'
        : >'${up}'; until [ -e '${go}' ]; do sleep 0.05; done; echo over`;
      const { data } = await server.call('spawn_shell', { prompt });
      await until('its session', () => existsSync(up));
      tmux('new-session', '-d', '-s', 'theirs', 'sleep 300');
      writeFileSync(go, '');
      const ids = { agent_ids: [data.agent_id] };
      const { data: waited } = await server.call('wait_for_agents', ids);
      expect(waited).toMatchObject({ results: [{ status: 'completed' }] });
      expect(tmux('list-sessions', '-F', '#S')).toBe('theirs\n');
    } finally {
      tmux('kill-server');
      await server.close();
      rmSync(socket, { force: true });
      rmSync(arena, { recursive: true });
      workspace.remove();
    }
  }
);
