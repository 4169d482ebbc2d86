import { join } from 'node:path';
import { type Facts, tellWithin } from '../../core/runs/fit.ts';
import { linePart } from '../../core/runs/parts.ts';
import { inlineChars, readReport } from '../../core/runs/report.ts';
import type { Run } from '../../core/runs/run.ts';
import type { Host } from '../../host.ts';
import { limitsOf } from './clients.ts';
import type { Asked } from './resources.ts';

/** For what the answer puts around it. */
const frameBytes = 1000;

/** What an agent was asked, and how it ended, without its answer. */
export async function agentRecord(
  run: Run,
  { store, tracker }: Pick<Host, 'store' | 'tracker'>,
  { clientName }: Asked
): Promise<Facts> {
  const { record } = run;
  const { full } = await readReport(run, store, tracker, { reach: 0 });
  const room = {
    chars: inlineChars - frameBytes,
    bytes: (limitsOf(clientName).answerBytes - frameBytes) / 2
  };
  const facts = tellWithin(
    [
      {
        answer: (told) => ({
          ...told(linePart('task', record.task)),
          ...full(told)
        }),
        least: 0
      }
    ],
    room
  );
  const { result, truncated, total_chars, next_offset, message, ...told } =
    facts;
  return {
    ...told,
    access: record.access,
    enforcement: record.enforcement,
    cwd: record.cwd,
    timeout_seconds: record.timeout_seconds,
    created_at: record.created_at,
    parent: record.parent,
    continues: record.continues,
    prompt_chars: record.prompt_chars,
    prompt_file: join(store.directoryOf(record.agent_id), 'prompt.txt'),
    result_chars: run.outcome?.result_chars ?? null
  };
}
