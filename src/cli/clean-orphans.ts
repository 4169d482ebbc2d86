import { rmSync } from 'node:fs';
import { HostError, messageOf } from '../core/errors.ts';
import { isServed, orphansIn } from '../core/paths/records.ts';
import { bytesBelow } from '../core/state/bytes-below.ts';
import { visibleText } from '../core/visible-text.ts';
import type { Host } from '../host.ts';
import { amount } from './amounts.ts';
import { ask } from './ask.ts';
import type { OrphansDocument } from './json/record-document.ts';
import { print, printJson, tell } from './output.ts';
import { exitCodes } from './shared.ts';
import { table } from './table.ts';
import { counted } from './text.ts';

interface Flags {
  dryRun?: boolean;
  yes?: boolean;
  json?: boolean;
}

/** Removes records whose workspace is gone, with all that they hold. */
export async function cleanOrphans(
  { paths, processes }: Host,
  { dryRun = false, yes, json }: Flags
): Promise<number> {
  const orphans = orphansIn(paths.home)
    .filter(({ path }) => !isServed(path, processes))
    .map((orphan) => ({ ...orphan, bytes: bytesBelow(orphan.path) }));
  const total = orphans.reduce((sum, { bytes }) => sum + bytes, 0);
  const summary = `${counted(orphans.length, 'record')} (${amount(total)})`;
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY && !json;
  if (orphans.length > 0 && !dryRun && !yes && !isTerminal)
    throw new HostError(
      'invalid_input',
      `That would remove ${summary} for good; nothing was removed.`,
      'Say --yes to remove them, or --dry-run to see them.'
    );
  if (!json && orphans.length > 0)
    await print(
      table(
        [
          { heading: 'SIZE', align: 'right', minimum: 8 },
          { heading: 'WORKSPACE', least: 20 }
        ],
        orphans.map(({ bytes, workspace }) => [
          amount(bytes),
          visibleText(workspace)
        ])
      )
    );
  if (orphans.length > 0 && !dryRun && !yes)
    if (!(await ask(`Remove ${summary} for good?`))) {
      tell('nothing was removed');
      return exitCodes.done;
    }
  process.exitCode = exitCodes.done;
  for (const { path } of dryRun ? [] : orphans)
    try {
      rmSync(path, { recursive: true });
    } catch (error) {
      tell(`${path} is left: ${messageOf(error)}`);
      process.exitCode = exitCodes.error;
    }
  if (json)
    await printJson<OrphansDocument>({
      dry_run: dryRun,
      orphans: orphans.map(({ path, workspace, bytes }) => ({
        record: path,
        workspace,
        bytes
      })),
      bytes: total
    });
  else if (orphans.length === 0) tell('nothing to remove');
  else tell(dryRun ? `would remove ${summary}` : `removed ${summary}`);
  return Number(process.exitCode);
}
