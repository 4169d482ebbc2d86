import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { TempWorkspace } from '../kit/workspaces/temp-workspace.ts';
import type { ModelServer } from '../model-server/server.ts';
import type { Client, ClientEvent } from './clients.ts';
import { allClis, furnishHome, userEnvironment } from './clis.ts';

const troupe = join(import.meta.dirname, '../../dist/troupe.cjs');

export interface ClientSession {
  workspace: TempWorkspace;
  model: ModelServer;
  prompt: string;
  /** Of our server. */
  flags?: string[];
  /** What the client gives one call; as the example has it without. */
  callSeconds?: number;
  /** Its files have been written already. */
  isConfigured?: boolean;
  /** A program, and its arguments, that starts our server. */
  through?: string[];
}

/** Runs a real CLI with our server among its tools; gives its answer. */
export async function runClient(
  client: Client,
  session: ClientSession
): Promise<string> {
  const { cli, config } = client;
  const { workspace, model, callSeconds, through = [], flags = [] } = session;
  const example = client.example([
    ...through,
    troupe,
    'mcp',
    '--trust',
    ...flags
  ]);
  furnishHome(workspace.home, [cli]);
  const text =
    callSeconds === undefined
      ? example
      : client.impatient(example, callSeconds);
  if (!session.isConfigured)
    workspace.write(
      `${config.in === 'home' ? '../home/' : ''}${config.file}`,
      text
    );
  const child = spawn(cli.program, client.args(model), {
    cwd: workspace.path,
    env: {
      HOME: workspace.home,
      LANG: 'C.UTF-8',
      TERM: 'dumb',
      ...userEnvironment(...allClis),
      ...client.env(model)
    }
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      output[name] += chunk;
    });
  child.stdin.end(session.prompt);
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0)
    throw new Error(
      `${cli.program}: ${code}\n${output.stderr}\n${output.stdout}`
    );
  return client.answerIn(
    output.stdout
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line): ClientEvent => JSON.parse(line))
  );
}
