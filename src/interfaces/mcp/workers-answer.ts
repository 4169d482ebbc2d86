import type { Worker } from '../../core/orchestrator/worker-store.ts';
import { type Facts, tellWithin } from '../../core/runs/fit.ts';
import { listPart } from '../../core/runs/parts.ts';
import { inlineChars } from '../../core/runs/report.ts';
import { limitsOf } from './clients.ts';
import { workerFacts } from './worker-facts.ts';

/**
 * All workers, oldest first; where the client has no room for so many, those
 * that live and then the newest, with how many there are.
 */
export function workersAnswer(workers: Worker[], clientName: string): Facts {
  const { answerBytes } = limitsOf(clientName);
  const all = { agents: workers.map((one) => workerFacts(one, true)) };
  const text = JSON.stringify(all);
  const isShort = text.length <= inlineChars;
  if (isShort && Buffer.byteLength(text) <= answerBytes) return all;
  const [living, others] = [false, true].map((isOver) =>
    workers.filter(({ log }) => log.read().isOver === isOver)
  );
  const first = [...(living ?? []), ...(others ?? []).toReversed()];
  const rows = first.map((one) => workerFacts(one, true));
  const answer = listPart('agents', rows, true);
  const form = { answer: (told: Told) => told(answer), least: 0 };
  return tellWithin([form], { chars: inlineChars, bytes: answerBytes });
}

type Told = (part: ReturnType<typeof listPart>) => Facts;
