import { type Config, hasToolset } from '../../../config/config.ts';
import type { Council } from '../../../core/council/council.ts';
import type { Host } from '../../../host/host.ts';
import type { Shown } from '../resources/resources.ts';
import {
  admitted,
  prepared,
  startsAgents,
  type Tool
} from '../tool/define-tool.ts';
import { councilTools } from '../toolsets/council.ts';
import { orchestratorTools } from '../toolsets/orchestrator.ts';
import { runTools } from '../toolsets/runs.ts';
import { spawnTools } from '../toolsets/spawn.ts';
import { squadTools } from '../toolsets/squad.ts';

/** The tools, prompts and resources of a server for one client. */
export interface Offer {
  tools: Tool[];
  /** Provides prompts and resources; absent if the server has none. */
  host?: Host;
}

/** Capabilities other than tools, as declared at `initialize`. */
export interface Prospect {
  resources: boolean;
  prompts: boolean;
  /** Whether tools may be listed later than at the start. */
  laterTools: boolean;
}

type Toolset = (host: Host, council: Council) => Tool[];

const toolsets: Record<string, Toolset> = {
  spawn: spawnTools,
  runs: runTools,
  squad: squadTools,
  council: councilTools,
  orchestrator: orchestratorTools
};

/** @param council the council of this client */
export function offerOf(host: Host, council?: Council): Offer {
  return { tools: toolsOf(host, council), host };
}

/**
 * The tools that a configuration switches on, in a fixed order.
 * @param council the council of the client that calls the tools
 */
export function toolsOf(host: Host, council = host.council): Tool[] {
  return Object.entries(toolsets).flatMap(([name, tools]) => {
    if (!hasToolset(host.config, name)) return [];
    const admit = () => host.safety.check(name === 'council');
    return tools(host, council).map((tool) => {
      const safe = admitted(tool, admit);
      return startsAgents(tool)
        ? prepared(safe, () => host.refreshConfig())
        : safe;
    });
  });
}

/** Capabilities that follow from the configuration alone. */
export function prospectOf(config: Config): Prospect {
  const { agents, workers } = shownResources(config);
  return {
    resources: agents || workers,
    prompts: hasAny(config, 'spawn', 'squad', 'council'),
    laterTools: hasAny(config, 'runs')
  };
}

export function shownResources(config: Config): Shown {
  return {
    agents: hasAny(config, 'spawn', 'runs', 'squad'),
    workers: hasAny(config, 'orchestrator')
  };
}

function hasAny(config: Config, ...names: string[]): boolean {
  return names.some((name) => hasToolset(config, name));
}
