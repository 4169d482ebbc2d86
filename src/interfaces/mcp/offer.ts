import { type Config, hasToolset } from '../../config.ts';
import type { Council } from '../../core/council/council.ts';
import type { Host } from '../../host.ts';
import { type Offer, type Prospect, toolsOf } from './server.ts';
import { showsAgents, showsWorkers } from './shows.ts';

/**
 * What a host has for a client.
 * @param council as it is for this client
 */
export function offerOf(host: Host, council?: Council): Offer {
  return { tools: toolsOf(host, council), host };
}

/** What it may have, as far as its configuration says. */
export function prospectOf(config: Config): Prospect {
  const has = (name: string) => hasToolset(config, name);
  return {
    resources: showsAgents(config) || showsWorkers(config),
    prompts: has('spawn') || has('squad') || has('council')
  };
}
