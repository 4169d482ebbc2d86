import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processEnvironments } from '../../../src/adapters/child-process/process-table.ts';
import { readIfExists } from '../../../src/core/state/files/atomic-file.ts';
import { processesOf } from '../../kit/agents/probe-agent.ts';
import { standIn } from '../../kit/agents/stand-in.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { createdWorker } from '../../kit/servers/orchestrator-calls.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const secrets = {
  AWS_SECRET_ACCESS_KEY: 'aws-secret-1234567',
  AWS_BEARER_TOKEN_BEDROCK: 'bedrock-1234567',
  GOOGLE_APPLICATION_CREDENTIALS: '/home/you/google.json',
  ANTHROPIC_VERTEX_PROJECT_ID: 'vertex-project',
  ANTHROPIC_FOUNDRY_API_KEY: 'foundry-1234567'
};
const gateway = 'gateway-key-1234567';

let workspace: TempWorkspace;
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(async () => {
  await server?.close();
  server = undefined;
  workspace.remove();
});

function configure(settings: object): void {
  workspace.write('.trouperc.json', JSON.stringify(settings));
}

/** What an agent of a program gets of the server's environment. */
async function environmentOf(
  name: string,
  env: Record<string, string>
): Promise<Record<string, string>> {
  const program = standIn(workspace, name === 'gemini-cli' ? 'gemini' : name);
  server = await startServer(workspace, { env });
  const tool = `spawn_${name.replace('-', '_')}`;
  const { data } = await server.call(tool, { prompt: 'Hi' });
  await server.call('wait_for_agents', { agent_ids: [data.agent_id] });
  await server.close();
  server = undefined;
  return program.seen().env;
}

function namesIn(environment: Record<string, string>): string[] {
  return Object.keys(secrets).filter((name) => name in environment);
}

test.each(['claude', 'codex', 'copilot', 'gemini-cli'])(
  'cloud credentials in the shell do not reach %s',
  async (name) => {
    expect(namesIn(await environmentOf(name, secrets))).toEqual([]);
  }
);

test("a cloud's switch hands over its own credentials, no other's", async () => {
  const bedrock = { ...secrets, CLAUDE_CODE_USE_BEDROCK: '1' };
  expect(namesIn(await environmentOf('claude', bedrock))).toEqual([
    'AWS_SECRET_ACCESS_KEY',
    'AWS_BEARER_TOKEN_BEDROCK'
  ]);
  configure({ engines: { claude: { env: { CLAUDE_CODE_USE_VERTEX: '1' } } } });
  expect(namesIn(await environmentOf('claude', secrets))).toEqual([
    'GOOGLE_APPLICATION_CREDENTIALS',
    'ANTHROPIC_VERTEX_PROJECT_ID'
  ]);
});

test('passEnv hands variables on by name, to one engine alone', async () => {
  configure({
    engines: { claude: { passEnv: ['GATEWAY_KEY', 'NOT_THERE'] } }
  });
  const env = { GATEWAY_KEY: gateway, OTHER_KEY: 'other-1234567' };
  const claude = await environmentOf('claude', env);
  expect(claude.GATEWAY_KEY).toBe(gateway);
  expect(claude).not.toHaveProperty('OTHER_KEY');
  expect(claude).not.toHaveProperty('NOT_THERE');
  expect(await environmentOf('codex', env)).not.toHaveProperty('GATEWAY_KEY');
});

test('passEnv reaches workers, and no file shows its value', async () => {
  configure({
    toolsets: ['orchestrator', 'spawn', 'runs'],
    engines: { rehearsal: { passEnv: ['GATEWAY_KEY'] } }
  });
  server = await startServer(workspace, { env: { GATEWAY_KEY: gateway } });
  const { agent_id } = await createdWorker(server, { engine: 'rehearsal' });
  const worker = [...processEnvironments(processesOf(agent_id)).values()];
  expect(worker.join()).toContain(`GATEWAY_KEY=${gateway}`);
  await server.call('agent_delete', { agent_id, force: true });

  const said = await server.call('spawn_rehearsal', {
    prompt: `say the key is ${gateway}`
  });
  await server.call('wait_for_agents', { agent_ids: [said.data.agent_id] });
  const iac = await until('the entry', () => {
    const text = readIfExists(join(workspace.path, 'logs/IAC.md'));
    return text?.includes('**Done**') ? text : undefined;
  });
  expect(iac).toContain('the key is [redacted]');
  expect(iac).not.toContain(gateway);
});

test('doctor names the variables of passEnv, and whether they are set', async () => {
  configure({
    engines: { claude: { passEnv: ['GATEWAY_KEY', 'NOT_THERE'] } }
  });
  standIn(workspace, 'claude');
  const env = { GATEWAY_KEY: gateway };
  const { stdout } = await runCommand(workspace, ['doctor'], { env });
  expect(stdout).toContain('GATEWAY_KEY (set), NOT_THERE (not set)');
  expect(stdout).not.toContain(gateway);
});

test.each(['A-B', '', '1X', 'A=B', 'TROUPE_DEPTH'])(
  'passEnv takes no %j',
  async (name) => {
    configure({ engines: { claude: { passEnv: [name] } } });
    const { code, stderr } = await runCommand(workspace, ['config']);
    expect(code).toBe(1);
    expect(stderr).toContain('engines.claude.passEnv');
  }
);
