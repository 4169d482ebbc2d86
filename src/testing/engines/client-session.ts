import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { ModelServer } from '../model-server/server.ts';
import type { TempWorkspace } from '../temp-workspace.ts';
import { claude, codex, userEnvironment } from './clis.ts';

const troupe = join(import.meta.dirname, '../../../dist/troupe.cjs');

/** A real CLI at work in a workspace, with our server among its tools. */
export interface ClientSession {
  workspace: TempWorkspace;
  model: ModelServer;
  prompt: string;
  /** Flags of our server. */
  flags?: string[];
}

/** Runs Claude Code as the client; gives its answer. */
export async function claudeSession(session: ClientSession): Promise<string> {
  const { workspace, model } = session;
  const agents = { type: 'stdio', ...server(session) };
  const config = join(workspace.home, 'mcp.json');
  workspace.write(
    '../home/mcp.json',
    JSON.stringify({ mcpServers: { agents } })
  );
  const events = await run(
    session,
    'claude',
    [
      '-p',
      ...['--output-format', 'stream-json', '--verbose'],
      '--dangerously-skip-permissions',
      '--strict-mcp-config',
      `--mcp-config=${config}`
    ],
    {
      ...userEnvironment(claude, codex),
      ANTHROPIC_BASE_URL: model.url,
      IS_SANDBOX: '1'
    }
  );
  const result = events.find(({ type }) => type === 'result');
  return String(result?.result);
}

/** Runs Codex as the client; gives its answer. */
export async function codexSession(session: ClientSession): Promise<string> {
  const { command, args } = server(session);
  const events = await run(
    session,
    'codex',
    [
      'exec',
      ...['--json', '--skip-git-repo-check'],
      '--dangerously-bypass-approvals-and-sandbox',
      ...['-c', `openai_base_url=${JSON.stringify(session.model.url)}`],
      ...['-c', `mcp_servers.agents.command=${JSON.stringify(command)}`],
      ...['-c', `mcp_servers.agents.args=${JSON.stringify(args)}`],
      '-'
    ],
    userEnvironment(codex)
  );
  const said = events.flatMap(({ type, item }) =>
    type === 'item.completed' && item?.type === 'agent_message'
      ? [item.text ?? '']
      : []
  );
  return said.at(-1) ?? '';
}

interface ClientEvent {
  type?: string;
  result?: string;
  item?: { type?: string; text?: string };
}

/** As our .mcp.json starts it. */
function server({ flags = [] }: ClientSession) {
  return { command: 'node', args: [troupe, 'mcp', ...flags] };
}

async function run(
  { workspace, prompt }: ClientSession,
  command: string,
  args: string[],
  env: Record<string, string>
): Promise<ClientEvent[]> {
  const child = spawn(command, args, {
    cwd: workspace.path,
    env: { HOME: workspace.home, LANG: 'C.UTF-8', TERM: 'dumb', ...env }
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      output[name] += chunk;
    });
  child.stdin.end(prompt);
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0)
    throw new Error(`${command}: ${code}\n${output.stderr}\n${output.stdout}`);
  return output.stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line): ClientEvent => JSON.parse(line));
}
