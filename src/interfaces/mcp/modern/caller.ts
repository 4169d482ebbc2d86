import type { ServerCapabilities } from '@modelcontextprotocol/sdk/types.js';
import type { Bridge } from './bridge.ts';
import { Listeners } from './listeners.ts';

/** A client as its requests name it. */
export interface ClientInfo {
  name: string;
  version: string;
}

/** What all requests with the same `clientInfo.name` share. */
export interface Caller {
  bridge: Bridge;
  listeners: Listeners;
  /** Aborted when the caller or the server ends. */
  ending: AbortSignal;
  /**
   * Counts one use.
   * @returns a function that ends this use; call it once
   */
  hold: () => () => void;
}

/**
 * Starts a server for the requests of one client.
 * @param start connects a server to the bridge
 */
export async function openCaller(
  bridge: Bridge,
  start: () => Promise<unknown>,
  client: ClientInfo,
  capabilities: ServerCapabilities
): Promise<Pick<Caller, 'bridge' | 'listeners'>> {
  await start();
  await bridge.initialize(client);
  return { bridge, listeners: new Listeners(bridge, capabilities) };
}
