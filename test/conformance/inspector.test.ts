import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { z } from 'zod';
import { type StartedHttp, startHttp } from '../kit/servers/http-server.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../kit/workspaces/temp-workspace.ts';
import { askJudge, testWith } from './judges.ts';

const judged = testWith('inspector');

const troupe = join(import.meta.dirname, '../../dist/troupe.cjs');
const flags = ['--engines', 'rehearsal', '--toolsets', 'all'];

let workspace: TempWorkspace;
let server: StartedHttp | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  server = undefined;
});

afterEach(async () => {
  expect(await server?.end()).toBe(server && 0);
  workspace.remove();
});

/** How the inspector reaches the server. */
type Way = () => Promise<string[]>;

const overStdio: Way = async () => [
  process.execPath,
  ...[troupe, 'mcp', '--workspace', workspace.path, ...flags]
];

const overHttp: Way = async () => {
  server ??= await startHttp(workspace, { flags: ['--toolsets', 'all'] });
  const header = `Authorization: Bearer ${server.token}`;
  return ['--server-url', server.url, '--header', header];
};

const toolsSchema = z.object({
  tools: z.array(z.looseObject({ name: z.string() }))
});

async function inspected(way: Way, ...asked: string[]) {
  const { path: cwd, home } = workspace;
  const { code, stdout, stderr } = await askJudge(
    'inspector',
    ['--cli', ...(await way()), '--format', 'json', '--method', ...asked],
    { cwd, home }
  );
  expect(code, `${asked}: ${stderr}${stdout}`).toBe(0);
  const { result } = z
    .object({ result: z.looseObject({}) })
    .parse(JSON.parse(stdout));
  return { result, stderr };
}

for (const [name, way] of [
  ['stdio', overStdio],
  ['HTTP', overHttp]
] as const) {
  judged(`over ${name} the inspector finds no fault in a tool`, async () => {
    const { result, stderr } = await inspected(way, 'tools/list', '--strict');
    const { tools } = toolsSchema.parse(result);
    expect(tools.map((tool) => tool.name)).toContain('agent_create');
    expect(stderr).toMatch(/\b0 errors\b/);
  });

  judged(`over ${name} the inspector calls a tool`, async () => {
    const asked = ['tools/call', '--tool-name', 'list'];
    const { result } = await inspected(way, ...asked);
    expect(result).toMatchObject({ structuredContent: { running: [] } });
    const spawn = ['--tool-name', 'spawn_rehearsal', '--tool-arg'];
    const spawned = await inspected(
      way,
      'tools/call',
      ...spawn,
      'prompt=say x'
    );
    expect(spawned.result).toMatchObject({
      structuredContent: { agent_type: 'rehearsal' }
    });
  });

  judged(`over ${name} the inspector gets a prompt`, async () => {
    const { result } = await inspected(way, 'prompts/list');
    const names = ['delegate', 'second_opinion', 'council', 'squad'];
    expect(result).toMatchObject({
      prompts: names.map((prompt) => ({ name: prompt }))
    });
    const asked = ['--prompt-name', 'delegate', '--prompt-args'];
    const got = await inspected(way, 'prompts/get', ...asked, 'task=Fix it');
    expect(got.result).toMatchObject({ messages: [{ role: 'user' }] });
    expect(JSON.stringify(got.result)).toContain('Fix it');
  });

  judged(`over ${name} the inspector reads what there is`, async () => {
    const { result } = await inspected(way, 'resources/list');
    expect(result).toEqual({ resources: [] });
    const templates = await inspected(way, 'resources/templates/list');
    expect(JSON.stringify(templates.result)).toContain(
      'agent://{agent_id}/outbox'
    );
  });
}

judged(
  'a client that asks for the revision, or wants one of them, is served by it',
  async () => {
    for (const [era, way] of ['auto', 'modern', 'legacy'].flatMap((era) =>
      [overStdio, overHttp].map((way) => [era, way] as const)
    )) {
      const asked = ['tools/call', '--tool-name', 'list'];
      asked.push('--protocol-era', era);
      const { result } = await inspected(way, ...asked);
      expect(result).toMatchObject({ structuredContent: { running: [] } });
    }
  }
);
