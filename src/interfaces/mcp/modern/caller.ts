import { declaredBy, type ServeOptions, serve } from '../server/server.ts';
import { Bridge } from './bridge.ts';
import { Listeners } from './listeners.ts';
import type { Caller } from './modern-server.ts';

/** A client as its requests name it. */
export interface ClientInfo {
  name: string;
  version: string;
}

/** Starts a server for the requests of one client. */
export async function openCaller(
  options: ServeOptions,
  client: ClientInfo,
  bridge = new Bridge()
): Promise<Caller> {
  await serve(options, bridge);
  await bridge.initialize(client);
  const listeners = new Listeners(bridge, declaredBy(options));
  return { bridge, listeners, ending: options.life.ending };
}
