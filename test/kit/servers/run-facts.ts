import type { Outcome, RunRecord } from '../../../src/core/runs/run.ts';

/** A CLI agent's record, as a spawn writes it. */
export function recordWith(changes: Partial<RunRecord> = {}): RunRecord {
  return {
    v: 1,
    agent_id: '0badcafe',
    engine: 'claude',
    label: 'Claude',
    kind: 'cli',
    model: null,
    access: 'full',
    enforcement: 'enforced',
    tools: null,
    cwd: '/',
    task: 'x',
    prompt_chars: 1,
    system_prompt: null,
    timeout_seconds: 60,
    idle_timeout_seconds: 0,
    output_limit_bytes: 100,
    on_disconnect: 'keep',
    request_id: null,
    created_at: '2026-01-01T00:00:00.000Z',
    owner: { pid: 1, start: '', place: '' },
    parent: null,
    depth: 1,
    continues: null,
    session_id: null,
    ...changes
  };
}

/** How an agent ended that ended well. */
export function outcomeWith(changes: Partial<Outcome> = {}): Outcome {
  return {
    v: 1,
    status: 'completed',
    error: null,
    error_code: null,
    result_file: 'result.txt',
    result_chars: 0,
    exit_code: 0,
    model: null,
    session_id: null,
    usage: null,
    session_usage: null,
    cost_usd: null,
    denials: [],
    started_at: null,
    completed_at: '2026-01-01T00:00:01.000Z',
    duration_ms: 1000,
    ...changes
  };
}
