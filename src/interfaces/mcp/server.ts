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
import { instructionsFor } from './instructions.ts';
import type { Life } from './lifecycle.ts';
import { councilTools } from './toolsets/council.ts';
import { runTools } from './toolsets/runs.ts';
import { spawnTools } from './toolsets/spawn.ts';
import { squadTools } from './toolsets/squad.ts';

const toolsets = {
  spawn: spawnTools,
  runs: runTools,
  squad: squadTools,
  council: councilTools
};

/** The tools a configuration switches on, in a fixed order. */
export function toolsOf(host: Host): Tool[] {
  return Object.entries(toolsets).flatMap(([name, tools]) =>
    hasToolset(host.config, name) ? tools(host) : []
  );
}

export interface ServeOptions {
  host: Host;
  life: Life;
  /** Finds the right host once the client can be asked where it works. */
  relocate?: (server: Server) => Promise<Host>;
}

/** Serves a host over one transport. */
export async function serve(
  { host, life, relocate }: ServeOptions,
  transport: Transport
): Promise<Server> {
  const server = new Server(
    { name: 'troupe', title: 'troupe', version },
    {
      capabilities: { tools: {} },
      instructions: instructionsFor(
        host.registry,
        host.config,
        relocate ? 'the workspace' : undefined
      )
    }
  );
  let tools: Promise<Map<string, Tool>> | undefined;
  const current = () => {
    tools ??= (async () => {
      const right = (await relocate?.(server)) ?? host;
      right.watch();
      return new Map(toolsOf(right).map((tool) => [tool.name, tool]));
    })();
    return tools;
  };
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    // The SDK's type is narrower than JSON Schema; the schemas are zod's own.
    tools: [...(await current()).values()].map(
      ({ call, ...told }) => told
    ) as never
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) =>
    life.track(
      (async () => {
        const known = await current();
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
  server.oninitialized = () => void current();
  await server.connect(transport);
  return server;
}

function unknownTool(name: string, tools: Map<string, Tool>): HostError {
  return new HostError(
    'unknown_tool',
    `There is no tool "${shortened(name)}".`,
    `Tools: ${[...tools.keys()].join(', ')}.`
  );
}
