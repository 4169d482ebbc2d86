import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type CouncilServers,
  createCouncilServers,
  done
} from '../../kit/servers/council-calls.ts';
import {
  type CouncilServerOptions,
  councilIn
} from '../../kit/servers/council-servers.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';

let servers: CouncilServers;

beforeEach(() => {
  servers = createCouncilServers();
});

afterEach(() => servers.close());

const variable = 'AGENTS_COUNCIL_STATE_PATH';

const atHome = (name: string) => join(servers.workspace.home, name);

const inWorkspace = (name: string) => join(servers.workspace.path, name);

function configure(council: unknown): void {
  servers.workspace.write('.trouperc.json', JSON.stringify({ council }));
}

/** Starts a council, and checks that it is in that file and no other. */
async function isKept(server: McpClient, path: string): Promise<void> {
  const args = { agent_name: 'alice', request: `Kept in ${path}?` };
  const { session_id } = await done(server, 'start_council', args);
  expect(councilIn(path)).toMatchObject({
    session: { id: session_id },
    requests: [{ content: args.request }]
  });
  const others = [
    servers.path,
    inWorkspace('.agents/council/state.json'),
    inWorkspace('configured.json')
  ];
  for (const other of others.filter((other) => other !== path))
    expect(existsSync(other)).toBe(false);
}

async function keptBy(path: string, options: CouncilServerOptions = {}) {
  await isKept(await servers.start(options), path);
}

test("the council is the user's own, unless something else is said", () =>
  keptBy(servers.path));

test('the environment names its file', async () => {
  const path = atHome('elsewhere/council.json');
  await keptBy(path, { env: { [variable]: path } });
});

test('its file may be named from the home directory on', () =>
  keptBy(atHome('x.json'), { env: { [variable]: '~/x.json' } }));

test('its file may be named from the workspace on', () =>
  keptBy(inWorkspace('below/x.json'), { env: { [variable]: 'below/x.json' } }));

test('an empty variable says nothing', () =>
  keptBy(servers.path, { env: { [variable]: '' } }));

test.each([
  ['configured.json', () => inWorkspace('configured.json')],
  ['~/configured.json', () => atHome('configured.json')]
])('the configuration may name %s', async (statePath, path) => {
  configure({ statePath });
  await keptBy(path());
});

test('a project may have a council of its own', async () => {
  configure({ scope: 'project' });
  await keptBy(inWorkspace('.agents/council/state.json'));
});

test('a named file comes before the scope', async () => {
  configure({ scope: 'project', statePath: 'configured.json' });
  await keptBy(inWorkspace('configured.json'));
});

test('the environment comes before the configuration', async () => {
  configure({ scope: 'project', statePath: 'configured.json' });
  const path = atHome('first.json');
  await keptBy(path, { env: { [variable]: path } });
});

test('troupe mcp looks for it in the same places', async () => {
  configure({ scope: 'project' });
  const path = inWorkspace('.agents/council/state.json');
  for (const [env, expected] of [
    [{}, path],
    [{ [variable]: '~/x.json' }, atHome('x.json')]
  ] as const) {
    const flags = ['--toolsets', 'council'];
    const server = await startServer(servers.workspace, { flags, env });
    const args = { agent_name: 'alice', request: 'Where?' };
    const { session_id } = await done(server, 'start_council', args);
    expect(councilIn(expected).session?.id).toBe(session_id);
    await server.close();
  }
});

test('councils in two files know nothing of each other', async () => {
  const [one, two] = await Promise.all(
    ['~/one.json', '~/two.json'].map((path) =>
      servers.start({ env: { [variable]: path } })
    )
  );
  if (!one || !two) throw new Error('There are two.');
  await done(one, 'start_council', { agent_name: 'a', request: 'One?' });
  const { isError, data } = await two.call('join_council', { agent_name: 'a' });
  expect(isError).toBe(true);
  expect(data.error_code).toBe('no_council');
});
