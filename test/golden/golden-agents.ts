import { Journal } from '../../src/core/audit/journal/journal.ts';
import { createRedactor } from '../../src/core/audit/redaction/redact.ts';
import type { Outcome, RunRecord } from '../../src/core/runs/run.ts';
import { makeUp } from '../kit/agents/made-up-agents.ts';
import { outcomeWith, recordWith } from '../kit/servers/run-facts.ts';
import type { TempWorkspace } from '../kit/workspaces/temp-workspace.ts';

export interface Told {
  agent_id: string;
  /** At the start of its output: for a while nothing changes. */
  minutesAgo: number;
  record: Partial<RunRecord>;
  outcome: Partial<Outcome>;
  text?: string;
  read?: boolean;
}

const day = 24 * 60;

/** Agents of all kinds that have ended, oldest first. */
export const endedAgents: readonly Told[] = [
  {
    agent_id: 'a0000001',
    minutesAgo: 40.5 * day,
    record: { engine: 'claude', label: 'Claude', task: 'count the files' },
    outcome: { duration_ms: 4200, cost_usd: 0.0312, model: 'haiku' },
    text: 'There are 42 files.\n',
    read: true
  },
  {
    agent_id: 'a0000002',
    minutesAgo: 2.5 * day,
    record: {
      engine: 'cursor-agent',
      label: 'Cursor',
      task: 'find out why the tests of the parser fail on Windows, and write down what would have to change in which file so that they pass there, too'
    },
    outcome: { duration_ms: 725_400, cost_usd: 12.5, model: 'auto' },
    text: 'The parser splits lines at \\n alone.\n\nSee src/parser.ts, line 12.\n'
  },
  {
    agent_id: 'b0000003',
    minutesAgo: 150,
    record: {
      engine: 'grok',
      label: 'Grok',
      kind: 'api',
      task: '調べる: なぜテストが落ちるのか、原因を見つけて説明してください。修正は不要です'
    },
    outcome: { duration_ms: 9120, cost_usd: 0.0041, model: 'grok-4' },
    text: '原因は改行コードです。\n'
  },
  {
    agent_id: 'b0000004',
    minutesAgo: 90,
    record: {
      engine: 'gemini-cli',
      label: 'Gemini CLI',
      task: 'בדוק את הקוד של השרת ומצא שגיאות'
    },
    outcome: {
      status: 'timeout',
      duration_ms: 300_000,
      error: 'It was stopped at its limit of 300 s.',
      error_code: 'timeout'
    },
    text: 'So far I have read two of the files.\n'
  },
  {
    agent_id: 'b0000005',
    minutesAgo: 50.02,
    record: {
      engine: 'copilot',
      label: 'Copilot',
      task: 'write the release notes \u001b[31m🎉\u001b[0m'
    },
    outcome: {
      status: 'canceled',
      duration_ms: 62_300,
      error: 'It was canceled: wrong branch.',
      error_code: 'canceled'
    }
  },
  {
    agent_id: 'b0000006',
    minutesAgo: 20.02,
    record: { engine: 'claude', label: 'Claude', task: 'tidy up' },
    outcome: {
      status: 'interrupted',
      duration_ms: 7_380_000,
      error: 'The machine was restarted while it was at work.',
      error_code: 'interrupted'
    }
  },
  {
    agent_id: 'b0000007',
    minutesAgo: 3.02,
    record: {
      engine: 'codex',
      label: 'Codex',
      task: 'review the last commit'
    },
    outcome: {
      status: 'failed',
      duration_ms: 1300,
      error: 'Codex is not logged in. Run: codex login',
      error_code: 'not_logged_in'
    }
  }
];

/** Puts them on disk and into the journal, as if they had been at work. */
export function tellAgents(
  workspace: TempWorkspace,
  agents: readonly Told[]
): void {
  const journal = new Journal(
    workspace.paths.journal,
    workspace.paths.heads,
    createRedactor([])
  );
  const now = Date.now();
  for (const {
    agent_id,
    minutesAgo,
    outcome: end,
    text = '',
    read,
    ...one
  } of agents) {
    const endedAt = new Date(now - minutesAgo * 60_000);
    const beganAt = new Date(endedAt.getTime() - (end.duration_ms ?? 0));
    const created_at = beganAt.toISOString();
    const record = recordWith({ ...one.record, agent_id, created_at });
    const outcome = outcomeWith({
      ...end,
      result_chars: text.length,
      started_at: created_at,
      completed_at: endedAt.toISOString()
    });
    const { engine, label, kind, access, enforcement, task } = record;
    makeUp(workspace.record, {
      ...record,
      daysAgo: minutesAgo / day,
      ...(read ? { read } : {}),
      text,
      outcome
    });
    journal.append(
      {
        ...{ type: 'spawned', agent_id, engine, label, kind, access },
        ...{ enforcement, task, created_at, cwd: workspace.path },
        ...{ model: outcome.model, tools: null, parent: null, continues: null },
        prompt: journal.textOf(task, '')
      },
      beganAt
    );
    const { status, error, error_code, model, exit_code } = outcome;
    const { cost_usd, usage, duration_ms, completed_at } = outcome;
    journal.append(
      {
        ...{ type: 'finished', agent_id, status, error, error_code, model },
        ...{ exit_code, cost_usd, usage, duration_ms, completed_at },
        result: journal.textOf(text, '')
      },
      endedAt
    );
  }
}
