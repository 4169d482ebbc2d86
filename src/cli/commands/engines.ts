import type { Command } from 'commander';
import type { Host } from '../../host.ts';
import { describeAccess, type EngineFacts, factsOf } from '../engine-facts.ts';
import type { EnginesDocument } from '../json/facts-document.ts';
import { colorsFor, print, printJson, tell } from '../output.ts';
import { exitWith } from '../process-end.ts';
import {
  addWorkspaceFlags,
  examples,
  exitCodes,
  type JsonFlag,
  type WorkspaceFlags,
  withHost
} from '../shared.ts';
import { type Cell, type Column, table } from '../table.ts';

type EnginesFlags = WorkspaceFlags & JsonFlag;

export function addEngines(program: Command): void {
  addWorkspaceFlags(
    program
      .command('engines')
      .description('engines that agents can run on')
      .option('--json', 'print JSON')
  )
    .addHelpText('after', examples(['troupe engines', 'troupe engines --json']))
    .action(async (flags: EnginesFlags) =>
      exitWith(await withHost(flags, (host) => engines(host, flags)))
    );
}

async function engines(host: Host, { json }: JsonFlag): Promise<number> {
  const { registry } = host;
  const facts = registry.all().map((engine) => factsOf(host, engine));
  if (json)
    await printJson<EnginesDocument>({
      engines: facts,
      faults: host.faults
    });
  else if (facts.length === 0)
    tell(
      'No engine is offered. Look at --engines and TROUPE_ENGINES, or run: troupe doctor'
    );
  else await print(table(columns, facts.map(row)));
  return exitCodes.done;
}

const columns: Column[] = [
  { heading: 'NAME' },
  { heading: 'KIND', goes: 1 },
  { heading: 'AVAILABLE' },
  { heading: 'ACCESS', least: 9 },
  { heading: 'TOOL', least: 12, goes: 2 },
  { heading: 'MODELS', least: 12, goes: 3 }
];

function row(facts: EngineFacts): Cell[] {
  const { green, red } = colorsFor(process.stdout);
  const missing = facts.kind === 'cli' ? 'not installed' : 'no key';
  return [
    facts.name,
    facts.kind,
    facts.available
      ? { text: 'yes', color: green }
      : { text: missing, color: red },
    describeAccess(facts),
    facts.tool,
    modelsOf(facts)
  ];
}

function modelsOf({ models }: EngineFacts): string {
  const standard = models.default ?? "the engine's own";
  const aliases = Object.keys(models.aliases);
  const others = aliases.filter((alias) => alias !== models.default);
  return others.length === 0 ? standard : `${standard} (${others.join(', ')})`;
}
