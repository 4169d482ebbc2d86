import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  type ClonedWorkspace,
  cloneOf,
  untrusted
} from '../../kit/workspaces/cloned-workspace.ts';

let clone: ClonedWorkspace;
let server: McpClient;

const engine = (word: string) => `export default {
  kind: 'api', name: 'echo', description: 'For tests.', keyNames: ['ECHO_KEY'],
  generate: async () => ({ text: '${word}', finished: true })
};
`;
const config = (more: object) =>
  JSON.stringify({
    plugins: ['./echo.mjs'],
    squad: { engine: 'own', runTemplatePath: 'own.template' },
    ...more
  });

/** A server in a workspace that the user has trusted as it is. */
beforeEach(async () => {
  clone = cloneOf(() => ({
    'echo.mjs': engine('first'),
    'own.template': 'echo first',
    'agents/planner.md': 'You plan.',
    'package.json': `{"name": "x", "troupe": ${config({})}}`
  }));
  await runCommand(clone, ['trust', '--yes'], { env: untrusted });
  server = await startServer(clone, { env: { ...untrusted, ECHO_KEY: 'k' } });
});

afterEach(async () => {
  await server.close();
  clone.remove();
});

async function echoed() {
  const { data } = await server.call('spawn_echo', { prompt: 'x' });
  const { agent_id } = data;
  await server.call('wait_for_agents', { agent_ids: [agent_id], timeout: 30 });
  return (await server.call('result', { agent_id })).data;
}

const startMember = () =>
  server.call('start_squad_members', {
    members: [{ roleId: 'planner', task: 'x' }]
  });

test('a plugin of an API that is as it was trusted answers', async () => {
  expect(await echoed()).toMatchObject({
    status: 'completed',
    result: 'first'
  });
});

test('a plugin of an API that has changed since is not loaded', async () => {
  clone.write('echo.mjs', engine('second'));
  expect(await echoed()).toMatchObject({
    status: 'failed',
    error: expect.stringContaining('has changed since the user trusted')
  });
});

test('a configuration that names another plugin since is not obeyed', async () => {
  clone.write('other.mjs', engine('second'));
  const other = config({ plugins: ['./other.mjs'] });
  clone.write('package.json', `{"name": "x", "troupe": ${other}}`);
  expect(await echoed()).toMatchObject({ status: 'failed' });
});

test('a package.json that has changed but for its key is no hindrance', async () => {
  clone.write('package.json', `{"name": "y", "troupe": ${config({})}}`);
  expect(await echoed()).toMatchObject({ status: 'completed' });
});

test('a template that has changed since is refused', async () => {
  expect((await startMember()).isError).toBe(false);
  clone.write('own.template', 'echo second');
  const { isError, text } = await startMember();
  expect(isError).toBe(true);
  expect(text).toContain('has changed since the user trusted this workspace');
});

test('a role that has changed since gives way to the built-in one, until it is trusted', async () => {
  const planner = async () => {
    const { data } = await server.call('list_roles');
    const roles: { id: string; description: string }[] = JSON.parse(
      JSON.stringify(data.roles)
    );
    return roles.find(({ id }) => id === 'planner')?.description;
  };
  expect(await planner()).toBe('');
  clone.write('agents/planner.md', '---\ndescription: Evil.\n---\nEvil.');
  expect(await planner()).toContain('plan');
  await runCommand(clone, ['trust', '--yes'], { env: untrusted });
  expect(await planner()).toBe('Evil.');
});
