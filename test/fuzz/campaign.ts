import { setImmediate as nextTurn } from 'node:timers/promises';
import { hostErrorCodes } from '../../src/core/errors.ts';
import type { Random } from '../kit/judges/random.ts';
import type { FuzzClient } from './fuzz-client.ts';
import { type MessageOptions, nextMessage } from './messages.ts';
import type { Names } from './valid-input.ts';
import { chunksOf, lineOf, noiseLine } from './wire.ts';

/** An error may show this much, whatever it was asked. */
const mostErrorChars = 4000;
const lateMs = 60_000;
/** Waits are given up after so many further messages. */
const patience = 300;
/** Requests that may be open at once. */
const window = 200;

/** What is wrong with an answer, whatever was asked; undefined when nothing. */
export function faultIn(
  answer: { result?: unknown; error?: { code?: unknown; message?: unknown } },
  names: Names
): string | undefined {
  const { result, error } = answer;
  if (error) {
    const isShort =
      typeof error.message === 'string' && error.message.length <= 2000;
    if (!Number.isInteger(error.code) || !isShort)
      return `bad error ${JSON.stringify(error).slice(0, 300)}`;
    // A bug of ours is reported as one.
    return error.code === -32603 ? 'internal error' : undefined;
  }
  const { isError, structuredContent, content } = Object(result);
  names.learn(structuredContent);
  if (!isError) return undefined;
  const { error_code } = Object(structuredContent);
  if (error_code === 'internal' || !hostErrorCodes.includes(error_code))
    return `bad code ${String(error_code)}`;
  const length = JSON.stringify(content).length;
  return length > mostErrorChars ? `an error of ${length}` : undefined;
}

export interface Campaign extends MessageOptions {
  client: FuzzClient;
  random: Random;
  messages: number;
  /** Before the first message, and after each tenth of them. */
  onTenth: (tenth: number) => Promise<void>;
}

/** Sends so many messages, each of which may be anything. */
export async function carryOut(campaign: Campaign): Promise<void> {
  const { client, random, messages } = campaign;
  const waits: { id: unknown; since: number }[] = [];
  const giveUp = async (before: number) => {
    while (waits[0] && waits[0].since < before) {
      const { id: requestId } = waits.shift() ?? {};
      if (!client.isOpen(requestId)) continue;
      client.free(requestId);
      const params = { requestId, reason: 'enough' };
      const method = 'notifications/cancelled';
      await client.write(line({ jsonrpc: '2.0', method, params }));
    }
  };
  await campaign.onTenth(0);
  for (let sent = 1; sent <= messages; sent += 1) {
    const message = nextMessage(1000 + sent, random, campaign);
    const { text, asks, cancels, isLong } = message;
    for (const id of asks) client.expect(id, text);
    for (const id of cancels) client.free(id);
    for (const id of isLong ? asks : []) waits.push({ id, since: sent });
    const bytes = lineOf(text, random);
    const noise = random.next() < 0.02 ? [noiseLine(random)] : [];
    for (const part of [bytes, ...noise])
      for (const chunk of random.next() < 0.1
        ? chunksOf(part, random)
        : [part]) {
        await client.write(chunk);
        if (chunk !== part) await nextTurn();
      }
    await giveUp(sent - patience);
    if (client.open().length > window) await client.settle(window / 2, lateMs);
    if (sent % 1000 === 0) {
      await ping(client, -sent);
      if (client.faults.length > 0) return;
    }
    if (sent % Math.ceil(messages / 10) === 0)
      await campaign.onTenth((10 * sent) / messages);
  }
  await giveUp(Number.POSITIVE_INFINITY);
  await client.settle(0, lateMs);
}

/** A whole round trip. */
async function ping(client: FuzzClient, id: number): Promise<void> {
  client.expect(id, 'ping');
  await client.write(line({ jsonrpc: '2.0', id, method: 'ping' }));
  const from = performance.now();
  while (client.isOpen(id) && performance.now() - from < lateMs)
    await new Promise((resolve) => setTimeout(resolve, 5));
  if (client.isOpen(id)) client.faults.push(`no answer to ping ${id}`);
}

export function line(message: Record<string, unknown>): string {
  return `${JSON.stringify(message)}\n`;
}
