import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  ListToolsRequestSchema
} from '@modelcontextprotocol/sdk/types.js';
import { hasToolset } from '../../config.ts';
import { HostError } from '../../core/errors.ts';
import type { Host } from '../../host.ts';
import { version } from '../../version.ts';
import { errorAnswer, shortened, type Tool } from './define-tool.ts';
import type { Life } from './lifecycle.ts';
import { type Resources, serveResources } from './resources.ts';
import { councilTools } from './toolsets/council.ts';
import { orchestratorTools } from './toolsets/orchestrator.ts';
import { runTools } from './toolsets/runs.ts';
import { spawnTools } from './toolsets/spawn.ts';
import { squadTools } from './toolsets/squad.ts';
import { WorkerResources } from './worker-resources.ts';

const toolsets = {
  spawn: spawnTools,
  runs: runTools,
  squad: squadTools,
  council: councilTools,
  orchestrator: orchestratorTools
};

/** The tools a configuration switches on, in a fixed order. */
export function toolsOf(host: Host): Tool[] {
  return Object.entries(toolsets).flatMap(([name, tools]) =>
    hasToolset(host.config, name) ? tools(host) : []
  );
}

/** What can be read beside the tools, if anything. */
export function resourcesOf(host: Host): Resources | undefined {
  return hasToolset(host.config, 'orchestrator')
    ? new WorkerResources(host.orchestrator)
    : undefined;
}

/** What a server has to offer, from the moment it is asked. */
export interface Offer {
  tools: Tool[];
  resources?: Resources | undefined;
}

export interface ServeOptions {
  life: Life;
  instructions: string;
  /** There may be resources in the offer: a client is told at once. */
  mayHaveResources?: boolean;
  /** Called once, when the client can be asked what it knows. */
  offer: (server: Server) => Promise<Offer>;
}

/** Serves tools and resources over one transport. */
export async function serve(
  { life, instructions, mayHaveResources = false, offer }: ServeOptions,
  transport: Transport
): Promise<Server> {
  const server = new Server(
    { name: 'troupe', title: 'troupe', version },
    {
      capabilities: {
        tools: {},
        ...(mayHaveResources
          ? { resources: { subscribe: true, listChanged: true } }
          : {})
      },
      instructions
    }
  );
  let offered: Promise<KnownOffer> | undefined;
  const current = () => {
    offered ??= offer(server).then(({ tools, resources }) => ({
      tools: new Map(tools.map((tool) => [tool.name, tool])),
      resources
    }));
    return offered;
  };
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    // The SDK's type is narrower than JSON Schema; the schemas are zod's own.
    tools: [...(await current()).tools.values()].map(
      ({ call, ...told }) => told
    ) as never
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) =>
    life.track(
      (async () => {
        const { tools: known } = await current();
        const tool = known.get(params.name);
        if (!tool)
          return errorAnswer(unknownTool(params.name, known), params.name);
        const progressToken = params._meta?.progressToken;
        let told = -1;
        return tool.call(params.arguments, {
          signal: AbortSignal.any([extra.signal, life.ending]),
          clientName: server.getClientVersion()?.name ?? '',
          progress: (progress, total, message) => {
            // The protocol wants it to grow with every notification.
            if (progressToken === undefined || progress <= told) return;
            told = progress;
            extra
              .sendNotification({
                method: 'notifications/progress',
                params: { progressToken, progress, total, message }
              })
              .catch(() => undefined);
          }
        });
      })()
    )
  );
  if (mayHaveResources)
    serveResources(server, life, async () => (await current()).resources);
  server.oninitialized = () => void current();
  await server.connect(transport);
  return server;
}

interface KnownOffer {
  tools: Map<string, Tool>;
  resources: Resources | undefined;
}

function unknownTool(name: string, tools: Map<string, Tool>): HostError {
  return new HostError(
    'unknown_tool',
    `There is no tool "${shortened(name)}".`,
    `Tools: ${[...tools.keys()].join(', ')}.`
  );
}
