import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  ListToolsRequestSchema
} from '@modelcontextprotocol/sdk/types.js';
import { hasToolset } from '../../config.ts';
import type { Council } from '../../core/council/council.ts';
import { HostError } from '../../core/errors.ts';
import type { Host } from '../../host.ts';
import { version } from '../../version.ts';
import { type Additions, callAdded } from './additions.ts';
import type { Answers } from './beside-tools.ts';
import { errorAnswer, shortened, type Tool } from './define-tool.ts';
import { withEither } from './either-signal.ts';
import type { Life } from './lifecycle.ts';
import { ProtocolError } from './protocol-error.ts';
import { councilTools } from './toolsets/council.ts';
import { orchestratorTools } from './toolsets/orchestrator.ts';
import { runTools } from './toolsets/runs.ts';
import { spawnTools } from './toolsets/spawn.ts';
import { squadTools } from './toolsets/squad.ts';
import { refuseWrongParams } from './wrong-params.ts';

type Toolset = (host: Host, council: Council) => Tool[];

const toolsets: Record<string, Toolset> = {
  spawn: spawnTools,
  runs: runTools,
  squad: squadTools,
  council: councilTools,
  orchestrator: orchestratorTools
};

/**
 * The tools a configuration switches on, in a fixed order.
 * @param council as it is for who calls them
 */
export function toolsOf(host: Host, council = host.council): Tool[] {
  return Object.entries(toolsets).flatMap(([name, tools]) => {
    if (!hasToolset(host.config, name)) return [];
    const admit = () => host.safety.check(name === 'council');
    return tools(host, council).map((tool) => admitted(tool, admit));
  });
}

/** A tool that looks first whether it may begin. */
export function admitted(tool: Tool, admit: () => void): Tool {
  return {
    ...tool,
    call: (input, context) => tool.call(input, { ...context, admit })
  };
}

/** What a server has to offer, from the moment it is asked. */
export interface Offer {
  tools: Tool[];
  /** Whose prompts and resources are served, where there are any. */
  host?: Host;
}

/** What there may be in an offer beside tools: a client is told at once. */
export interface Prospect {
  resources: boolean;
  prompts: boolean;
}

export interface ServeOptions {
  life: Life;
  instructions: string;
  prospect?: Prospect;
  /** Called once, when the client can be asked what it knows. */
  offer: (server: Server) => Promise<Offer>;
  additions?: Additions | undefined;
}

/** Serves tools, prompts and resources over one transport. */
export async function serve(
  options: ServeOptions,
  transport: Transport
): Promise<Server> {
  const { life, instructions, prospect } = options;
  const { offer, additions = {} } = options;
  const added = new Map(additions.tools?.map((tool) => [tool.name, tool]));
  const server = new Server(
    { name: 'troupe', title: 'troupe', version },
    {
      capabilities: {
        tools: {},
        ...capabilitiesOf(prospect),
        ...additions.capabilities
      },
      instructions
    }
  );
  let offered: Promise<KnownOffer> | undefined;
  let beside: Promise<Answers> | undefined;
  const current = () => {
    offered ??= offer(server).then(({ tools, ...rest }) => ({
      ...rest,
      tools: new Map(tools.map((tool) => [tool.name, tool]))
    }));
    return offered;
  };
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    // The SDK's type is narrower than JSON Schema; the schemas are zod's own.
    tools: [...(await current()).tools.values(), ...added.values()].map(
      ({ call, ...told }) => told
    ) as never
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) =>
    life.track(
      (async () => {
        const { tools: known } = await current();
        const tool = known.get(params.name);
        const other = tool ? undefined : added.get(params.name);
        if (other) return callAdded(other, params.arguments, server, extra);
        if (!tool)
          return errorAnswer(unknownTool(params.name, known), params.name);
        const progressToken = params._meta?.progressToken;
        let told = -1;
        const signals = [extra.signal, life.ending];
        return withEither(signals, (signal) =>
          tool.call(params.arguments, {
            signal,
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
          })
        );
      })()
    )
  );
  if (prospect)
    server.fallbackRequestHandler = ({ method, params }) =>
      life.track(
        (async () => {
          if (!isBeside(method, prospect)) throw unknownMethod();
          beside ??= import('./beside-tools.ts').then(({ besideTools }) =>
            besideTools(server, life, async () => (await current()).host)
          );
          const answer = (await beside)[method];
          if (!answer) throw unknownMethod();
          return answer(params);
        })()
      );
  additions.prepare?.(server);
  server.oninitialized = () => void current();
  await server.connect(transport);
  refuseWrongParams(transport);
  return server;
}

interface KnownOffer extends Omit<Offer, 'tools'> {
  tools: Map<string, Tool>;
}

function capabilitiesOf({ resources, prompts }: Prospect = nothing) {
  return {
    ...(resources ? { resources: { subscribe: true, listChanged: true } } : {}),
    ...(prompts ? { prompts: {} } : {}),
    ...(resources || prompts ? { completions: {} } : {})
  };
}

const nothing: Prospect = { resources: false, prompts: false };

/** True for what there may be beside tools. */
function isBeside(method: string, prospect: Prospect): boolean {
  const [family = ''] = method.split('/');
  return Object.hasOwn(capabilitiesOf(prospect), familyOf[family] ?? family);
}

/** Capability whose name is not that of its methods. */
const familyOf: Record<string, string> = { completion: 'completions' };

function unknownMethod(): ProtocolError {
  return new ProtocolError(-32601, 'Method not found');
}

function unknownTool(name: string, tools: Map<string, Tool>): HostError {
  return new HostError(
    'unknown_tool',
    `There is no tool "${shortened(name)}".`,
    `Tools: ${[...tools.keys()].join(', ')}.`
  );
}
