import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../kit/workspaces/git-workspace.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import { mayHaveOwnTmux } from '../../kit/workspaces/own-tmux-place.ts';

const testOwnTmux = needing(
  'no tmux server on the usual socket',
  mayHaveOwnTmux()
);

let workspace: GitWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createGitWorkspace();
  server = await startServer(workspace);
});

afterEach(async () => {
  await server.close();
  workspace.remove();
});

testOwnTmux(
  'an agent whose supervisor was killed leaves no directory for its tmux',
  async () => {
    const { data } = await server.call('spawn_shell', {
      prompt: 'echo "$TMUX_TMPDIR" >place.txt; sleep 600'
    });
    const id = String(data.agent_id);
    const textOf = (path: string) =>
      existsSync(path) ? readFileSync(path, 'utf8') : '';
    const written = join(workspace.path, 'place.txt');
    const place = await until('its directory', () =>
      textOf(written).endsWith('\n') ? textOf(written).trim() : undefined
    );
    expect(existsSync(place)).toBe(true);
    const claim = textOf(join(workspace.record, 'spawns', id, 'claim'));
    process.kill(Number(claim.split(' ')[0]), 'SIGKILL');

    await server.call('wait_for_agents', { agent_ids: [id] });
    const result = await server.call('result', { agent_id: id });
    expect(result.data.status).toBe('interrupted');
    expect(existsSync(place)).toBe(false);
  }
);
