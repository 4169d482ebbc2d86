import { readFileSync } from 'node:fs';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';
import { type RunningCommand, startCommand } from './command-line.ts';
import type { ToolResult } from './mcp-client.ts';
import { type Fill, newClient } from './sdk-client.ts';

export interface HttpServerOptions {
  flags?: string[];
  env?: Record<string, string>;
  /** Starts in the home directory, and says nothing of a workspace. */
  address?: string;
}

/** `troupe mcp --http`, listening. */
export interface StartedHttp {
  command: RunningCommand;
  url: string;
  port: number;
  token: string;
  /** Sends a signal, and gives the exit code. */
  end: (signal?: NodeJS.Signals) => Promise<number | null>;
}

/** Starts the built server on a free port. */
export async function startHttp(
  workspace: TempWorkspace,
  { flags = [], env = {}, address = '0' }: HttpServerOptions = {}
): Promise<StartedHttp> {
  const given = ['--engines', 'rehearsal', ...flags];
  const command = startCommand(
    workspace,
    ['mcp', '--http', address, '--workspace', workspace.path, ...given],
    { env }
  );
  const [, url = '', port] = await command.says(
    'stderr',
    /serves MCP at (http:\/\/\S+:(\d+)\/mcp)\n/
  );
  return {
    command,
    url,
    port: Number(port),
    token: env.TROUPE_HTTP_TOKEN ?? tokenOf(workspace),
    end: async (signal = 'SIGTERM') => {
      command.child.kill(signal);
      return (await command.exited).code;
    }
  };
}

export function tokenFileOf({ paths }: TempWorkspace): string {
  return paths.token;
}

export function tokenOf(workspace: TempWorkspace): string {
  return readFileSync(tokenFileOf(workspace), 'utf8').trim();
}

/** A client of the protocol's own SDK. */
export class HttpClient {
  readonly sdk: Client;
  readonly transport: StreamableHTTPClientTransport;

  constructor(url: string, token: string, name = 'troupe-test', fill?: Fill) {
    this.sdk = newClient(name, fill);
    this.transport = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { Authorization: `Bearer ${token}` } }
    });
  }

  async connect(): Promise<this> {
    await this.sdk.connect(this.transport);
    return this;
  }

  /** @param signal gives the call up */
  async call(
    name: string,
    args: Record<string, unknown> = {},
    options: Parameters<Client['callTool']>[2] = {}
  ): Promise<ToolResult> {
    const answer = await this.sdk.callTool(
      { name, arguments: args },
      undefined,
      { timeout: 100_000, ...options }
    );
    const [content] = answer.content as { text: string }[];
    return {
      isError: answer.isError === true,
      data: (answer.structuredContent ?? {}) as Record<string, unknown>,
      text: content?.text ?? ''
    };
  }

  /** Says that it leaves, and leaves. */
  async leave(): Promise<void> {
    await this.transport.terminateSession();
    await this.sdk.close();
  }
}

/** A client with a session of its own. */
export function httpClient(
  { url, token }: StartedHttp,
  name?: string,
  fill?: Fill
): Promise<HttpClient> {
  return new HttpClient(url, token, name, fill).connect();
}
