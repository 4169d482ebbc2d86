import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { failureCodes } from '../engines/failure-codes.ts';
import { lazily } from '../lazily.ts';
import { identitySchema } from '../state/process-identity.ts';
import type { Outcome, RunRecord } from './run.ts';

/**
 * Shapes of the files in an agent's folder. What is read back is parsed, not
 * believed: another version, a full disk or another process may have written
 * it.
 */
const access = z.enum(['read', 'write', 'full']);
const count = z.number().min(0);
const text = z.string();
const nullable = z.string().nullable();
const agentId = z.string().regex(/^[0-9a-f]{8}$/);
const path = z.string().refine(isAbsolute);

const usage = lazily(() =>
  z.object({
    prompt_tokens: z.number(),
    completion_tokens: z.number(),
    total_tokens: z.number()
  })
);

const recordSchema = lazily(() =>
  z.object({
    v: z.literal(1),
    agent_id: agentId,
    engine: z.string().min(1),
    label: text,
    kind: z.enum(['cli', 'api']),
    model: nullable,
    access,
    enforcement: z.enum(['enforced', 'asked']),
    tools: nullable,
    cwd: path,
    worktree: z
      .object({ path, branch: text, base: text, origin: path })
      .exactOptional(),
    template: z.string().exactOptional(),
    program: z.string().exactOptional(),
    squad: z
      .object({ squadId: text, memberId: text, roleId: text })
      .exactOptional(),
    in_chat: z.literal(true).exactOptional(),
    comes_after: z.literal(true).exactOptional(),
    task: text,
    prompt_chars: count,
    system_prompt: nullable,
    timeout_seconds: count,
    idle_timeout_seconds: count,
    retry_seconds: count.exactOptional(),
    output_limit_bytes: count,
    on_disconnect: z.enum(['keep', 'stop']),
    request_id: nullable,
    created_at: text,
    owner: identitySchema(),
    parent: nullable,
    depth: count,
    continues: nullable,
    session_id: nullable,
    new_session_id: nullable.exactOptional()
  })
);

const outcomeSchema = lazily(() =>
  z.object({
    v: z.literal(1),
    status: z.enum([
      'completed',
      'failed',
      'timeout',
      'canceled',
      'interrupted'
    ]),
    error: nullable,
    error_code: z.enum(failureCodes).nullable(),
    result_file: z.enum(['result.txt', 'stdout']),
    result_chars: count,
    exit_code: z.number().nullable(),
    model: nullable,
    session_id: nullable,
    usage: usage().nullable(),
    session_usage: usage().nullable(),
    cost_usd: count.nullable(),
    denials: z.array(z.string()),
    started_at: nullable,
    completed_at: text,
    duration_ms: count,
    settled_by: identitySchema().exactOptional()
  })
);

/** Undefined for what is no record of this agent. */
export function parseRun(id: string, text: string): RunRecord | undefined {
  const parsed = recordSchema().safeParse(jsonOf(text));
  return parsed.data?.agent_id === id ? parsed.data : undefined;
}

/** Undefined for what is no outcome. */
export function parseOutcome(text: string): Outcome | undefined {
  return outcomeSchema().safeParse(jsonOf(text)).data;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
