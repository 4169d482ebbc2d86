import type { Command } from 'commander';
import type { Host } from '../../../host/host.ts';
import {
  checkEngine,
  describeAccess,
  describeReadiness,
  describeReplaced
} from '../../doctor/engine-check.ts';
import type {
  EngineCheck,
  EnginesDocument
} from '../../json/setup-documents.ts';
import { colorsFor, print, printJson, report } from '../../output/output.ts';
import { type Cell, type Column, table } from '../../output/table.ts';
import {
  addWorkspaceFlags,
  exitAfter,
  exitCodes,
  type JsonFlag,
  type WorkspaceFlags
} from '../command-options.ts';

export function addEngines(program: Command): void {
  addWorkspaceFlags(
    program
      .command('engines')
      .description('engines that agents can run on')
      .option('--json', 'print JSON'),
    ['troupe engines', 'troupe engines --json']
  ).action(async (flags: WorkspaceFlags) =>
    exitAfter(flags, (host) => engines(host, flags))
  );
}

async function engines(host: Host, { json }: JsonFlag): Promise<number> {
  const { registry } = host;
  const facts = await Promise.all(
    registry.all().map((engine) => checkEngine(host, engine))
  );
  if (json)
    await printJson<EnginesDocument>({
      engines: facts,
      faults: host.faults
    });
  else if (facts.length === 0)
    report(
      'No engine is offered. Look at --engines and TROUPE_ENGINES, or run: troupe doctor'
    );
  else {
    await print(table(columns, facts.map(row)));
    for (const { name, replaced_by: plugin } of facts)
      if (plugin !== undefined)
        report(describeReplaced({ engine: name, plugin }));
  }
  return exitCodes.done;
}

const columns: Column[] = [
  { heading: 'NAME' },
  { heading: 'KIND', dropOrder: 1 },
  { heading: 'READY' },
  { heading: 'ACCESS', minWidth: 9 },
  { heading: 'TOOL', minWidth: 12, dropOrder: 2 },
  { heading: 'MODELS', minWidth: 12, dropOrder: 3 }
];

function row(facts: EngineCheck): Cell[] {
  const { green, red } = colorsFor(process.stdout);
  return [
    facts.name,
    facts.kind,
    {
      text: describeReadiness(facts),
      color: facts.ready ? green : red
    },
    describeAccess(facts),
    facts.tool,
    modelsOf(facts)
  ];
}

function modelsOf({ models }: EngineCheck): string {
  const standard = models.default ?? "the engine's own";
  const aliases = Object.keys(models.aliases);
  const others = aliases.filter((alias) => alias !== models.default);
  return others.length === 0 ? standard : `${standard} (${others.join(', ')})`;
}
