import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

interface Bridge {
  command: string;
  args: string[];
  env: Record<string, string>;
}

interface Message {
  id?: number;
  result?: { content?: { text?: string }[]; isError?: boolean };
}

/**
 * Calls a tool of the bridge, started for this one call as a program starts its
 * MCP servers.
 * @param file has the bridge's command
 * @returns undefined if the bridge ends before it answers
 */
export async function callBridge(
  file: string,
  name: string,
  args: object
): Promise<Record<string, unknown> | undefined> {
  const {
    command,
    args: words,
    env
  }: Bridge = JSON.parse(readFileSync(file, 'utf8'));
  const child = spawn(command, words, {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit']
  });
  child.on('error', () => undefined);
  child.stdin.on('error', () => undefined);
  const send = (message: object) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const clientInfo = { name: 'rehearsal', version: '1' };
  const protocolVersion = '2025-11-25';
  const params = { protocolVersion, capabilities: {}, clientInfo };
  send({ id: 1, method: 'initialize', params });
  send({ method: 'notifications/initialized' });
  send({ id: 2, method: 'tools/call', params: { name, arguments: args } });
  for await (const line of createInterface({ input: child.stdout })) {
    const { id, result }: Message = JSON.parse(line);
    if (id !== 2) continue;
    child.stdin.end();
    const text = result?.content?.[0]?.text;
    return result?.isError || !text ? undefined : JSON.parse(text);
  }
  return undefined;
}
