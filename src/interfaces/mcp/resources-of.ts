import { type Config, hasToolset } from '../../config.ts';
import { inlineChars } from '../../core/runs/report.ts';
import type { Host } from '../../host.ts';
import { AgentResources } from './agent-resources.ts';
import { limitsOf } from './clients.ts';
import { LogResources } from './log-resources.ts';
import { suggest } from './prompts/suggest.ts';
import { type Place, unknownResource } from './resource-uri.ts';
import type { Listed, Resources, Source } from './resources.ts';
import { showsAgents, showsWorkers } from './shows.ts';
import { WorkerResources } from './worker-resources.ts';

/** Scheme, or scheme and first part, of a URI → whose it is. */
type Sources = Map<string, Source>;

/** What can be read beside the tools, if anything. */
export function resourcesOf(host: Host): Resources | undefined {
  const sources = sourcesOf(host);
  if (sources.size === 0) return undefined;
  const all = [...new Set(sources.values())];
  const check = () => host.safety.check();
  const sourceOf = (place: Place): Source => {
    check();
    const source = sources.get(familyOf(place.uri));
    if (source) return source;
    throw unknownResource(place.uri, missing(host.config));
  };
  return {
    templates: all.flatMap(({ templates }) => templates),
    list: async (clientName) => {
      check();
      const { answerBytes } = limitsOf(clientName);
      const room = Math.min(inlineChars, answerBytes);
      const listed: Listed[] = [];
      for (const source of all) {
        const taken = Buffer.byteLength(JSON.stringify(listed));
        listed.push(...(await source.list(room - taken)));
      }
      return listed;
    },
    listStamp: () => all.map((source) => source.listStamp()).join(' '),
    read: async (asked) => sourceOf(asked.place).read(asked),
    stampOf: (place) => sourceOf(place).stampOf(place),
    complete: async (template, variable, typed) => {
      check();
      const source = sources.get(familyOf(template));
      return source
        ? await source.complete(template, variable, typed)
        : suggest(typed, []);
    }
  };
}

function sourcesOf(host: Host): Sources {
  const sources: Sources = new Map();
  if (showsAgents(host.config)) {
    sources.set('troupe://log', new LogResources(host.paths, host.identity));
    sources.set('troupe://agents', new AgentResources(host));
  }
  if (showsWorkers(host.config)) {
    const workers = new WorkerResources(host.orchestrator);
    sources.set('agent:', workers).set('run:', workers);
  }
  return sources;
}

function familyOf(uri: string): string {
  return /^(troupe:\/\/[a-z]+|[a-z]+:)/.exec(uri)?.[1] ?? '';
}

function missing(config: Config): string {
  return hasToolset(config, 'orchestrator')
    ? 'This server has resources of workers alone: the others go with the toolsets spawn, runs and squad.'
    : 'This server has no resources of workers: they go with the toolset orchestrator.';
}
