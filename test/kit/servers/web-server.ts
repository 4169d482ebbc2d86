import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';
import {
  type RunningCommand,
  runCommand,
  startCommand
} from './command-line.ts';
import { ask, type RawAnswer, type RawRequest } from './raw-http.ts';

/** `troupe web`, listening. */
export interface StartedWeb {
  command: RunningCommand;
  /** With the first code, which works once. */
  link: string;
  port: number;
  code: string;
  /** Another link, by `troupe web --link`. */
  newLink: (scope: 'look' | 'act') => Promise<string>;
  /** Sends a signal, and gives the exit code. */
  end: (signal?: NodeJS.Signals) => Promise<number | null>;
}

/** Starts the built page on a free port. */
export async function startWeb(
  workspace: TempWorkspace,
  flags: string[] = [],
  env: Record<string, string> = {}
): Promise<StartedWeb> {
  const command = startCommand(
    workspace,
    ['web', '--no-open', '--engines', 'rehearsal', ...flags],
    { env }
  );
  const [link, port, code = ''] = await command.says(
    'stdout',
    /http:\/\/\S+:(\d+)\/#([\w-]{24})\n/
  );
  return {
    command,
    link: link.trim(),
    port: Number(port),
    code,
    newLink: async (scope) => {
      const { stdout } = await runCommand(workspace, ['web', '--link', scope]);
      return stdout.trim();
    },
    end: async (signal = 'SIGTERM') => {
      command.child.kill(signal);
      return (await command.exited).code;
    }
  };
}

/** What the page logged that must not happen: unexpected errors, whole. */
export function problemsOf({ command }: StartedWeb): string[] {
  const logged = command.stderr.split(/^troupe: /m);
  return logged.filter((message) => /bug|problem|Error/.test(message));
}

/** The token that a code is exchanged for. */
export async function tokenFor(
  web: Pick<StartedWeb, 'port'>,
  code: string
): Promise<string> {
  const { status, text } = await askWeb(web, '/web/login', {
    body: JSON.stringify({ code })
  });
  if (status !== 200) throw new Error(`${status}: ${text}`);
  return JSON.parse(text).token;
}

/** One request as it stands; a POST if it has a body. */
export function askWeb(
  { port }: Pick<StartedWeb, 'port'>,
  path: string,
  { token, headers, ...request }: RawRequest & { token?: string } = {}
): Promise<RawAnswer> {
  return ask(
    { port, token: '' },
    {
      method: request.body === undefined ? 'GET' : 'POST',
      ...request,
      path,
      headers: {
        authorization: token === undefined ? undefined : `Bearer ${token}`,
        ...headers
      }
    }
  );
}

/** A signed-in caller of the page's data. */
export class WebClient {
  readonly #web: Pick<StartedWeb, 'port'>;
  readonly token: string;

  constructor(web: Pick<StartedWeb, 'port'>, token: string) {
    this.#web = web;
    this.token = token;
  }

  async get(path: string): Promise<Record<string, unknown>> {
    return bodyOf(await askWeb(this.#web, path, { token: this.token }));
  }

  post(path: string, body: unknown = {}): Promise<RawAnswer> {
    const text = JSON.stringify(body);
    return askWeb(this.#web, path, { token: this.token, body: text });
  }
}

export async function webClient(
  web: StartedWeb,
  code = web.code
): Promise<WebClient> {
  return new WebClient(web, await tokenFor(web, code));
}

export function bodyOf({ status, text }: RawAnswer): Record<string, unknown> {
  if (status !== 200) throw new Error(`${status}: ${text}`);
  return JSON.parse(text);
}

/** The records of the workspace's journal. */
export function journalOf({ paths }: TempWorkspace): Record<string, unknown>[] {
  return readFileSync(paths.journal, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** What people did to workers and in the council, as the journal has it. */
export function actedIn(workspace: TempWorkspace): unknown[] {
  return journalOf(workspace)
    .filter(({ type }) => type === 'acted')
    .map(({ agent_id, action, what, who }) => [agent_id, action, what, who]);
}

/** The status, the code and the message of a refusal, which has a next step. */
export function faultOf({ status, text }: RawAnswer): [number, string, string] {
  const { code, message, hint } = JSON.parse(text).error;
  expect(hint).toMatch(/\w/);
  return [status, code, message];
}
